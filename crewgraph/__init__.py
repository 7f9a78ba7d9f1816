"""Write teams of agents in CrewAI's vocabulary, run them as LangGraph StateGraphs.

from crewgraph import Agent, Crew, Task

writer = Agent(role="Writer", goal="Write clearly", backstory="A former journalist", llm="openai/gpt-4o-mini")
poem = Task(description="Write a poem about {topic}", expected_output="Four lines", agent=writer)
crew = Crew(agents=[writer], tasks=[poem])

print(crew.kickoff({"topic": "rain"}))      # runs the crew; crew.resume(thread_id) continues after a crash
for item in crew.stream({"topic": "rain"}): # runs it, and yields events as they happen
    print(item)
graph = crew.compile()                      # the same crew as a CompiledStateGraph

Flows, event-driven workflows of methods, are here, too; `crewgraph.flow` has all of their names.

from crewgraph import Flow, listen, start

class Report(Flow):
    @start()
    def poem(self):
        return crew.kickoff({"topic": "rain"}).raw

    @listen(poem)
    def publish(self, text):
        print(text)

Report().kickoff()
"""

from typing import TYPE_CHECKING

from crewgraph.definitions.agent.agent import Agent, BaseAgent
from crewgraph.definitions.agent.delegation_tools import AgentTools, AskQuestionTool, DelegateTaskTool
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.crew.evaluation import CrewTestResult
from crewgraph.definitions.crew.history import CrewStep, RunDiff, TaskDiff
from crewgraph.definitions.crew.pending import CrewQuestion, PendingCrew, RunInfo
from crewgraph.definitions.crew.plan import CrewPlan
from crewgraph.definitions.crew.process import Process
from crewgraph.definitions.task.conversion import Converter
from crewgraph.definitions.task.guardrail import GuardrailResult, HallucinationGuardrail, LLMGuardrail
from crewgraph.definitions.task.output import CrewOutput, OutputFormat, TaskOutput
from crewgraph.definitions.task.task import ConditionalTask, Task
from crewgraph.lazy import lazy_exports
from crewgraph.llm.base import BaseLLM
from crewgraph.llm.llm import LLM
from crewgraph.llm.scripted import ScriptedLLM, ToolUse
from crewgraph.llm.usage import UsageMetrics
from crewgraph.memory.memory import Memory
from crewgraph.tools.base import tool

if TYPE_CHECKING:
    from crewgraph.definitions.checkpoints import CheckpointSettings as CheckpointConfig
    from crewgraph.definitions.flow.dsl import and_, listen, or_, router, start
    from crewgraph.definitions.flow.feedback import human_feedback
    from crewgraph.definitions.flow.flow import Flow
    from crewgraph.definitions.flow.persistence import persist
    from crewgraph.definitions.stream import (
        Custom,
        Finished,
        Judged,
        ModelFinished,
        ModelStarted,
        Started,
        Step,
        StreamItem,
        TaskFailed,
        TaskFinished,
        TaskItem,
        TaskStarted,
        Token,
        ToolCallToken,
        ToolFinished,
        ToolStarted,
    )
    from crewgraph.knowledge.knowledge import Knowledge

__all__ = [
    "LLM",
    "Agent",
    "AgentTools",
    "AskQuestionTool",
    "BaseAgent",
    "BaseLLM",
    "CheckpointConfig",
    "ConditionalTask",
    "Converter",
    "Crew",
    "CrewOutput",
    "CrewPlan",
    "CrewQuestion",
    "CrewStep",
    "CrewTestResult",
    "Custom",
    "DelegateTaskTool",
    "Finished",
    "Flow",
    "GuardrailResult",
    "HallucinationGuardrail",
    "Judged",
    "Knowledge",
    "LLMGuardrail",
    "Memory",
    "ModelFinished",
    "ModelStarted",
    "OutputFormat",
    "PendingCrew",
    "Process",
    "RunDiff",
    "RunInfo",
    "ScriptedLLM",
    "Started",
    "Step",
    "StreamItem",
    "Task",
    "TaskDiff",
    "TaskFailed",
    "TaskFinished",
    "TaskItem",
    "TaskOutput",
    "TaskStarted",
    "Token",
    "ToolCallToken",
    "ToolFinished",
    "ToolStarted",
    "ToolUse",
    "UsageMetrics",
    "__version__",
    "and_",
    "human_feedback",
    "listen",
    "or_",
    "persist",
    "router",
    "start",
    "tool",
]

__version__ = "0.1.0"

_MODULES = {
    "CheckpointConfig": "crewgraph.contrib.snapshots.config",
    "Custom": "crewgraph.definitions.stream",
    "Finished": "crewgraph.definitions.stream",
    "Judged": "crewgraph.definitions.stream",
    "ModelFinished": "crewgraph.definitions.stream",
    "ModelStarted": "crewgraph.definitions.stream",
    "Started": "crewgraph.definitions.stream",
    "Step": "crewgraph.definitions.stream",
    "StreamItem": "crewgraph.definitions.stream",
    "TaskFailed": "crewgraph.definitions.stream",
    "TaskFinished": "crewgraph.definitions.stream",
    "TaskItem": "crewgraph.definitions.stream",
    "TaskStarted": "crewgraph.definitions.stream",
    "Token": "crewgraph.definitions.stream",
    "ToolCallToken": "crewgraph.definitions.stream",
    "ToolFinished": "crewgraph.definitions.stream",
    "ToolStarted": "crewgraph.definitions.stream",
    "and_": "crewgraph.definitions.flow.dsl",
    "listen": "crewgraph.definitions.flow.dsl",
    "or_": "crewgraph.definitions.flow.dsl",
    "router": "crewgraph.definitions.flow.dsl",
    "start": "crewgraph.definitions.flow.dsl",
    "human_feedback": "crewgraph.definitions.flow.feedback",
    "Flow": "crewgraph.definitions.flow.flow",
    "persist": "crewgraph.definitions.flow.persistence",
    "Knowledge": "crewgraph.knowledge.knowledge",
    "load_ipython_extension": "crewgraph_compat",  # IPython looks for it in `%load_ext crewgraph`
    "unload_ipython_extension": "crewgraph_compat",
}
"""Names that are imported when they are first used: few programs need them, or they load much."""

if not TYPE_CHECKING:  # type checkers know all names, and report others
    __getattr__ = lazy_exports(__name__, _MODULES)

    def __dir__() -> list[str]:
        return sorted(__all__)
