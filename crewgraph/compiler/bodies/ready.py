"""Whether agents have what they need for their work, looked at before anything is done."""

from collections.abc import Sequence

from crewgraph.compiler.agent_report import AgentReport
from crewgraph.compiler.bodies.agent import AgentAtWork
from crewgraph.compiler.engagement import Engagement
from crewgraph.compiler.executor import made_executor
from crewgraph.core.protocols import Model
from crewgraph.definitions.coworkers import CoworkerTool
from crewgraph.definitions.langgraph_adapter import LangGraphAgentAdapter
from crewgraph.llm.resolve import as_model
from crewgraph.llm.usage import UsageLedger
from crewgraph.own_version import own_version

__all__ = ["check_coworkers", "check_ready"]


def check_ready(engagement: Engagement) -> Model | None:
    """Look, before anything is done, whether an agent can work.

    Returns:
        Its model, if it needs one: who keeps it spares every task to make it anew.

    Raises:
        CompileError: its executor cannot be called, or not be given what there is to give.
        ModelError: it needs a model and has none.
    """
    agent = engagement.agent
    if own_version(agent, "execute_task") or own_version(agent, "aexecute_task"):
        return None  # which may do without
    work = AgentAtWork(engagement, agent.written("role"), AgentReport(engagement, None), UsageLedger(), engagement.book)
    return as_model(agent.llm) if work.executor is None else None


def check_coworkers(engagements: Sequence[Engagement]) -> None:
    """Look, before anything is done, whether those whom agents may hand work to have the models that they need.

    Raises:
        ModelError: one needs a model and has none.
    """
    sources = [tool.tool.source for one in engagements for tool in one.tools.values()]
    asked = [agent for source in sources if isinstance(source, CoworkerTool) for agent in source.agents]
    for agent in {id(agent): agent for agent in asked}.values():
        own = own_version(agent, "execute_task") or own_version(agent, "aexecute_task")
        if own is None and (made_executor(agent) is None or isinstance(agent, LangGraphAgentAdapter)):
            as_model(agent.llm)
