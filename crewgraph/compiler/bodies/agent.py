"""What an agent does for a task or for messages: from the texts of a run to its answer."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from crewgraph.compiler.agent_report import AgentReport
from crewgraph.compiler.bodies.dialogue import Dialogue
from crewgraph.compiler.bodies.executor import carried_out
from crewgraph.compiler.bodies.knowledge import Lookup, looked_up
from crewgraph.compiler.bodies.memories import Recollection
from crewgraph.compiler.bodies.people import Asker
from crewgraph.compiler.bodies.react import Worker, stepped, worked
from crewgraph.compiler.bodies.reasoning import Plan, Planner, planned
from crewgraph.compiler.briefing import Briefing
from crewgraph.compiler.cached import cached
from crewgraph.compiler.engagement import Engagement, guarded_tools
from crewgraph.compiler.equipment import equipped
from crewgraph.compiler.executor import Executor, made_executor
from crewgraph.compiler.knowledge_report import KnowledgeReport
from crewgraph.compiler.limited import model_of
from crewgraph.compiler.memories import memories_of
from crewgraph.compiler.memory_tools import memory_tools
from crewgraph.compiler.observed import ObservedTool
from crewgraph.compiler.react_graph import react_graph
from crewgraph.compiler.remembering import Remembers
from crewgraph.compiler.shared import controllers_of
from crewgraph.compiler.toolbox import PreparedTool, Toolbox
from crewgraph.core.effects import Body, Call, EffectFailed, Scope
from crewgraph.core.messages import Message
from crewgraph.core.ports import Model
from crewgraph.definitions.agent import Agent
from crewgraph.definitions.coworkers import CoworkerTool
from crewgraph.definitions.frame import around
from crewgraph.definitions.langgraph_adapter import LangGraphAgentAdapter
from crewgraph.definitions.own_version import own_version
from crewgraph.definitions.step import AgentFinish
from crewgraph.definitions.task import Task
from crewgraph.errors import CompileError, TimeLimitReached
from crewgraph.llm.capabilities import window_of
from crewgraph.llm.ledger import UsageLedger
from crewgraph.llm.resolve import as_model
from crewgraph.prompts.book import Book
from crewgraph.tools.mcp.tool import MCPTool
from crewgraph.tools.memory import RecallMemoryTool, RememberTool
from crewgraph.tools.use import GuardedTool

__all__ = ["AgentAtWork", "Refused", "check_coworkers", "check_ready"]

Refused = tuple[str, str]
"""An earlier attempt, and why it was refused."""


class AgentAtWork:
    """An agent at work in one run, on a task or on messages.

    Args:
        engagement: who, with which tools.
        role: its role in this run.
        report: who is told.
        usage: where requests are counted.
        book: the wording.
        task: what it works on; None where it answers messages.
    """

    def __init__(
        self,
        engagement: Engagement,
        role: str,
        report: AgentReport,
        usage: UsageLedger,
        book: Book,
        task: Task | None = None,
    ) -> None:
        self._engagement, self._role, self._about = engagement, role, task
        self._agent = engagement.agent
        self._heard, self._usage, self._book = report, usage, book
        self._fetched: list[MCPTool] | None = None
        self._known: str | None = None

    def equipped(self) -> Body[None]:
        """Look for what it needs from outside, before anything else: the tools of its MCP servers, a place to run code in.

        Raises:
            MCPServerError: a server is not there, or has not the tool that is meant.
            ToolFailed: code is to be run, and there is no place for it.
        """
        if self._fetched is None:
            known = self._engagement.tools
            sources = [tool.tool.source for tool in known.values()]
            self._fetched = yield from equipped(self._agent, sources, known)

    @property
    def given_tools(self) -> list[Any]:
        """What it may use, as objects: those that the user gave, and those of its MCP servers."""
        return [*self._engagement.given_tools, *(self._fetched or ())]

    @cached_property
    def model(self) -> Model:
        """Its model."""
        return self.asked(self._agent.llm)

    def asked(self, llm: Any) -> Model:
        """Another model, at work for this agent."""
        return model_of(llm, self._agent, self._about, self._engagement.crew)

    @cached_property
    def converter(self) -> Model:
        """The model that gives texts a structure."""
        return self.model if self._reader is None else self._reader

    @property
    def converter_llm(self) -> Any:
        """The same, as the user gave it."""
        special = self._special_llm
        return self._agent.llm if special is None else special

    @property
    def own_converter(self) -> Callable[..., Any] | None:
        """What the agent's class, or a patch, gives texts a structure with."""
        return own_version(self._agent, "get_output_converter")

    @cached_property
    def _reader(self) -> Model | None:
        """The model for reading arguments and structures, where there is a special one."""
        special = self._special_llm
        return None if special is None else self.asked(special)

    @property
    def _special_llm(self) -> Any:
        special, crew = getattr(self._agent, "function_calling_llm", None), self._engagement.crew
        return crew.function_calling_llm if special is None and crew is not None else special

    @cached_property
    def executor(self) -> Executor | None:
        """What carries out its work in the place of the loop."""
        made, agent, where = made_executor(self._agent), self._agent, self._engagement.where
        if made is not None or isinstance(agent, LangGraphAgentAdapter):
            self._refuse_approvals(where)
        if made is None and isinstance(agent, LangGraphAgentAdapter):
            graph = react_graph(self.model, Toolbox(self._observed), agent.max_iter, self._book, where)
            return Executor(graph, {}, where, agent.role)
        if made is not None and agent.max_rpm is not None:
            raise CompileError(
                f"{where}: its `max_rpm` cannot bound the requests that its `agent_executor` makes. Leave it out, and give a "
                "LangChain rate limiter to the models in it."
            )
        return None if made is None else Executor(made, self._observed, where, agent.role)

    def _refuse_approvals(self, where: str) -> None:
        if guarded := [name for name, tool in self._observed.items() if tool.require_approval]:
            raise CompileError(
                f"{where}: what carries out its work calls its tools by itself, so nobody could be asked whether it may use "
                f"`{'`, `'.join(guarded)}` (`require_approval`). Leave the executor out, or let the tool ask with LangGraph's "
                "`interrupt`."
            )

    @cached_property
    def tools(self) -> Toolbox:
        """What it may use in the loop; an executor is given them in its own way."""
        return Toolbox(self._in_hand if self.executor is None else {})

    @cached_property
    def _in_hand(self) -> Mapping[str, PreparedTool]:
        """Its tools as the loop uses them."""
        return self._offered

    @cached_property
    def _offered(self) -> dict[str, ObservedTool]:
        """Its tools, and those for its memory."""
        memories = memories_of(self._agent, self._engagement.crew)
        return self._observed | self._seen(memory_tools(memories, self.model, self._observed, self._book))

    @cached_property
    def _observed(self) -> dict[str, ObservedTool]:
        return self._seen(self._fetched or (), self._engagement.tools)

    def _seen(self, tools: Sequence[Any], known: Mapping[str, GuardedTool] | None = None) -> dict[str, ObservedTool]:
        agent, crew = self._agent, self._engagement.crew
        named = {**(known or {}), **guarded_tools(tools, {}, self._engagement.where)}
        return {name: ObservedTool(cached(tool, agent, crew), agent, self._about) for name, tool in named.items()}

    @property
    def native_tools(self) -> bool:
        """Whether tools are offered in the model's own protocol."""
        return self.executor is None and self.model.native_tools

    @property
    def asker(self) -> Asker:
        """Asks people in its name."""
        task = None if self._about is None else self._engagement.slug
        heard = self._heard
        return Asker(agent=self._role, task=task, book=self._book, asked=heard.asked, answered=heard.answered)

    @cached_property
    def recollection(self) -> Recollection:
        """Its memories."""
        memories = memories_of(self._agent, self._engagement.crew)
        who = Remembers(self._agent, self._about, self._role)
        return Recollection(memories, who, self._book, self._engagement.where)

    @property
    def assessor(self) -> Model | None:
        """Who says how good its answers are, and what is worth remembering of them; None where it works without a model."""
        own = own_version(self._agent, "execute_task") or own_version(self._agent, "aexecute_task")
        if self._agent.llm is None and (own is not None or self.executor is not None):
            return None
        return self.model

    def in_time(self, work: Callable[[], Body[str]], begun: Sequence[Message]) -> Body[str]:
        """What some work gives, in a run of its own in the trace, which shows the messages it began with.

        Raises:
            TimeLimitReached: the work took longer than `max_execution_time`.
        """
        try:
            return (
                yield Scope(
                    name=f"Agent: {self._role}",
                    body=work,
                    given={"messages": list(begun)},
                    metadata={"agent_role": self._role},
                    seconds=self._engagement.seconds,
                )
            )
        except EffectFailed as failure:
            if isinstance(failure.__cause__, TimeLimitReached):
                raise TimeLimitReached(self._out_of_time(failure)) from failure
            raise

    def replied(self, dialogue: Dialogue, context: str = "") -> Body[str]:
        """The answer to a conversation's last message; what is said on the way to it is added to the conversation."""
        if self.executor is None:
            return (yield from worked(self._worker(), dialogue))
        answer = yield from carried_out(self.executor, dialogue.transcript.messages, context, self._usage)
        finish = AgentFinish(thought="", output=answer, text=answer)
        yield from stepped(self._heard.step, self._step_callback, finish, 1)
        return answer

    def notes(self, briefing: Briefing, refused: Refused | None = None) -> Body[tuple[str, ...]]:
        """What it is told with what it is asked: the date, and its plan."""
        agent, notes = self._agent, list[str]()
        if not isinstance(agent, Agent):
            return ()
        if agent.inject_date:
            date: str = yield Call(function=_today, args=(agent.date_format,), name="date", about=agent.date_format)
            notes.append(self._book.slice("current_date", date=date))
        if agent.reasoning:
            plan = yield from self.planned(briefing, refused)
            if plan is not None and plan.text:
                notes.append(self._book.slice("plan", plan=plan.text))
        return tuple(notes)

    def known(self, text: str, expected: str = "", context: str = "") -> Body[tuple[str, ...]]:
        """What is known of what it is asked, looked up once in a run; a note for its prompt.

        Args:
            text: what it is asked.
            expected: what is to come of it.
            context: what others have found out.

        Raises:
            SourceError: a source of knowledge cannot be used.
        """
        if self._known is None:
            agent, crew, has_model = self._agent, self._engagement.crew, self.executor is None
            lookup = Lookup(
                agent=agent,
                crew=crew,
                text=text,
                expected=expected,
                context=context,
                model=(lambda: self.model) if has_model else None,
                book=self._book,
                usage=self._usage,
                report=KnowledgeReport(agent, self._about, self._engagement.where),
            )
            self._known = yield from looked_up(lookup)
        return (self._known,) if self._known else ()

    def planned(self, briefing: Briefing, refused: Refused | None = None) -> Body[Plan | None]:
        """Its plan for what it is asked; a refused attempt and the reason come into the prompt."""
        planner = Planner(
            model=self.model,
            book=self._book,
            briefing=briefing,
            tools=self.tools.listed,
            attempts=self._agent.max_reasoning_attempts if isinstance(self._agent, Agent) else None,
            usage=self._usage,
            audience=self._heard,
            refused=refused,
        )
        return planned(planner)

    def _out_of_time(self, failure: EffectFailed) -> str:
        waits = " Waiting for `max_rpm` counts, too." if controllers_of(self._agent, self._engagement.crew) else ""
        return (
            f"{self._engagement.where}: not done after its `max_execution_time` of {self._engagement.seconds:g} seconds: "
            f"{failure.text}. Give it more time, or less to do.{waits}"
        )

    @property
    def _step_callback(self) -> Callable[..., Any] | None:
        own, crew = getattr(self._agent, "step_callback", None), self._engagement.crew
        return own or (crew.step_callback if crew else None)

    def _remembers(self, tool: str, observation: str) -> Body[None]:
        """A tool has given something."""
        used = self.tools.named(tool)
        if isinstance(used, ObservedTool) and isinstance(used.tool.tool.source, (RecallMemoryTool, RememberTool)):
            return  # it came out of a memory, or went into one
        yield from self.recollection.used(tool, self._role, observation)

    def _worker(self) -> Worker:
        agent, crew = self._agent if isinstance(self._agent, Agent) else None, self._engagement.crew
        template = agent.response_template if agent else None
        return Worker(
            model=self.model,
            tools=self.tools,
            book=self._book,
            max_iter=self._agent.max_iter,
            where=self._engagement.where,
            usage=self._usage,
            told=self._heard.step,
            refused=self._heard.tool_refused,
            asker=self.asker,
            step_callback=self._step_callback,
            counts=self._heard.counts,
            retries=agent.max_retry_limit if agent else 0,
            window=lambda: window_of(self._agent.llm, self.model.name),
            condenses=(agent is None or agent.respect_context_window) and (crew is None or crew.respect_context_window),
            condensed=self._heard.condensed,
            reader=self._reader,
            remembers=self._remembers if self.recollection else None,
            stop=tuple(filter(None, [around(template, "Response")[1]])) if template else (),
        )


def check_ready(engagement: Engagement) -> None:
    """Look, before anything is done, whether an agent can work.

    Raises:
        CompileError: its executor cannot be called, or not be given what there is to give.
        ModelError: it needs a model and has none.
    """
    agent = engagement.agent
    if own_version(agent, "execute_task") or own_version(agent, "aexecute_task"):
        return  # which may do without
    work = AgentAtWork(engagement, agent.role, AgentReport(engagement, None), UsageLedger(), engagement.book)
    if work.executor is None:
        as_model(agent.llm)


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


def _today(written: str) -> str:
    return datetime.now().strftime(written)
