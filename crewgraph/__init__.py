"""Write teams of agents in CrewAI's vocabulary, run them as LangGraph StateGraphs.

from crewgraph import Agent, Crew, Task

writer = Agent(role="Writer", goal="Write clearly", backstory="A former journalist", llm="openai/gpt-4o-mini")
poem = Task(description="Write a poem about {topic}", expected_output="Four lines", agent=writer)
crew = Crew(agents=[writer], tasks=[poem])

print(crew.kickoff({"topic": "rain"}))      # runs; continues after a crash with crew.resume(thread_id)
for item in crew.stream({"topic": "rain"}): # runs, and tells of it as it happens
    print(item)
graph = crew.compile()                      # the same crew as a CompiledStateGraph
"""

from typing import TYPE_CHECKING, Any

from crewgraph.definitions.agent import Agent, BaseAgent
from crewgraph.definitions.checkpoint_config import CheckpointConfig
from crewgraph.definitions.converter import Converter
from crewgraph.definitions.coworkers import AgentTools, AskQuestionTool, DelegateTaskTool
from crewgraph.definitions.crew import Crew
from crewgraph.definitions.crew_diff import RunDiff, TaskDiff
from crewgraph.definitions.crew_plan import CrewPlan
from crewgraph.definitions.crew_step import CrewStep
from crewgraph.definitions.evaluation import CrewTestResult
from crewgraph.definitions.guardrail import GuardrailResult
from crewgraph.definitions.model_guardrail import HallucinationGuardrail, LLMGuardrail
from crewgraph.definitions.output import CrewOutput, OutputFormat, TaskOutput
from crewgraph.definitions.pending_crew import CrewQuestion, PendingCrew
from crewgraph.definitions.process import Process
from crewgraph.definitions.run_info import RunInfo
from crewgraph.definitions.task import ConditionalTask, Task
from crewgraph.extras import load
from crewgraph.llm.base import BaseLLM
from crewgraph.llm.llm import LLM
from crewgraph.llm.scripted import ScriptedLLM, ToolUse
from crewgraph.llm.usage import UsageMetrics
from crewgraph.memory.memory import Memory

if TYPE_CHECKING:
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
]

__version__ = "0.1.0"


if not TYPE_CHECKING:  # type checkers know all names, and are to tell of others

    def __getattr__(name: str) -> Any:
        # What a stream tells, and knowledge: only those who read one, or give one, need them.
        if name in (
            "load_ipython_extension",
            "unload_ipython_extension",
        ):  # what IPython looks for in `%load_ext crewgraph`
            return getattr(load("crewgraph_compat"), name)
        if name not in __all__:
            raise AttributeError(f"module `crewgraph` has no attribute `{name}`")
        where = "crewgraph.knowledge.knowledge" if name == "Knowledge" else "crewgraph.definitions.stream"
        return getattr(load(where), name)
