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

from crewgraph.lazy import lazy_exports

if TYPE_CHECKING:
    from crewgraph.definitions.agent.agent import Agent, BaseAgent
    from crewgraph.definitions.agent.delegation_tools import AgentTools, AskQuestionTool, DelegateTaskTool
    from crewgraph.definitions.checkpoints import CheckpointSettings as CheckpointConfig
    from crewgraph.definitions.crew.crew import Crew
    from crewgraph.definitions.crew.evaluation import CrewTestResult
    from crewgraph.definitions.crew.history import CrewStep, RunDiff, TaskDiff
    from crewgraph.definitions.crew.pending import CrewQuestion, PendingCrew, RunInfo
    from crewgraph.definitions.crew.plan import CrewPlan
    from crewgraph.definitions.crew.process import Process
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
    from crewgraph.definitions.task.conversion import Converter
    from crewgraph.definitions.task.guardrail import GuardrailResult, HallucinationGuardrail, LLMGuardrail
    from crewgraph.definitions.task.output import CrewOutput, OutputFormat, TaskOutput
    from crewgraph.definitions.task.task import ConditionalTask, Task
    from crewgraph.knowledge.knowledge import Knowledge
    from crewgraph.llm.base import BaseLLM
    from crewgraph.llm.llm import LLM
    from crewgraph.llm.scripted import ScriptedLLM, ToolUse
    from crewgraph.llm.usage import UsageMetrics
    from crewgraph.memory.memory import Memory
    from crewgraph.tools.base import tool

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
    "Agent": "crewgraph.definitions.agent.agent",
    "BaseAgent": "crewgraph.definitions.agent.agent",
    "AgentTools": "crewgraph.definitions.agent.delegation_tools",
    "AskQuestionTool": "crewgraph.definitions.agent.delegation_tools",
    "DelegateTaskTool": "crewgraph.definitions.agent.delegation_tools",
    "Crew": "crewgraph.definitions.crew.crew",
    "CrewTestResult": "crewgraph.definitions.crew.evaluation",
    "CrewStep": "crewgraph.definitions.crew.history",
    "RunDiff": "crewgraph.definitions.crew.history",
    "TaskDiff": "crewgraph.definitions.crew.history",
    "CrewQuestion": "crewgraph.definitions.crew.pending",
    "PendingCrew": "crewgraph.definitions.crew.pending",
    "RunInfo": "crewgraph.definitions.crew.pending",
    "CrewPlan": "crewgraph.definitions.crew.plan",
    "Process": "crewgraph.definitions.crew.process",
    "and_": "crewgraph.definitions.flow.dsl",
    "listen": "crewgraph.definitions.flow.dsl",
    "or_": "crewgraph.definitions.flow.dsl",
    "router": "crewgraph.definitions.flow.dsl",
    "start": "crewgraph.definitions.flow.dsl",
    "human_feedback": "crewgraph.definitions.flow.feedback",
    "Flow": "crewgraph.definitions.flow.flow",
    "persist": "crewgraph.definitions.flow.persistence",
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
    "Converter": "crewgraph.definitions.task.conversion",
    "GuardrailResult": "crewgraph.definitions.task.guardrail",
    "HallucinationGuardrail": "crewgraph.definitions.task.guardrail",
    "LLMGuardrail": "crewgraph.definitions.task.guardrail",
    "CrewOutput": "crewgraph.definitions.task.output",
    "OutputFormat": "crewgraph.definitions.task.output",
    "TaskOutput": "crewgraph.definitions.task.output",
    "ConditionalTask": "crewgraph.definitions.task.task",
    "Task": "crewgraph.definitions.task.task",
    "Knowledge": "crewgraph.knowledge.knowledge",
    "BaseLLM": "crewgraph.llm.base",
    "LLM": "crewgraph.llm.llm",
    "ScriptedLLM": "crewgraph.llm.scripted",
    "ToolUse": "crewgraph.llm.scripted",
    "UsageMetrics": "crewgraph.llm.usage",
    "Memory": "crewgraph.memory.memory",
    "tool": "crewgraph.tools.base",
    "load_ipython_extension": "crewgraph_compat",  # IPython looks for it in `%load_ext crewgraph`
    "unload_ipython_extension": "crewgraph_compat",
}
"""The module of each name, imported when the name is first used."""

if not TYPE_CHECKING:  # type checkers know all names, and report others
    __getattr__ = lazy_exports(__name__, _MODULES)

    def __dir__() -> list[str]:
        return sorted(__all__)
