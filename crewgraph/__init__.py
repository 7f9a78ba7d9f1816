"""Write teams of agents in CrewAI's vocabulary, run them as LangGraph StateGraphs.

from crewgraph import Agent, Crew, Task

writer = Agent(role="Writer", goal="Write clearly", backstory="A former journalist", llm="openai/gpt-4o-mini")
poem = Task(description="Write a poem about {topic}", expected_output="Four lines", agent=writer)
crew = Crew(agents=[writer], tasks=[poem])

print(crew.kickoff({"topic": "rain"}))      # runs; continues after a crash with crew.resume(thread_id)
graph = crew.compile()                      # the same crew as a CompiledStateGraph
"""

from crewgraph.definitions.agent import Agent, BaseAgent
from crewgraph.definitions.converter import Converter
from crewgraph.definitions.crew import Crew
from crewgraph.definitions.guardrail import GuardrailResult
from crewgraph.definitions.model_guardrail import HallucinationGuardrail, LLMGuardrail
from crewgraph.definitions.output import CrewOutput, OutputFormat, TaskOutput
from crewgraph.definitions.process import Process
from crewgraph.definitions.task import ConditionalTask, Task
from crewgraph.llm.base import BaseLLM
from crewgraph.llm.llm import LLM
from crewgraph.llm.scripted import ScriptedLLM, ToolUse
from crewgraph.llm.usage import UsageMetrics

__all__ = [
    "LLM",
    "Agent",
    "BaseAgent",
    "BaseLLM",
    "ConditionalTask",
    "Converter",
    "Crew",
    "CrewOutput",
    "GuardrailResult",
    "HallucinationGuardrail",
    "LLMGuardrail",
    "OutputFormat",
    "Process",
    "ScriptedLLM",
    "Task",
    "TaskOutput",
    "ToolUse",
    "UsageMetrics",
    "__version__",
]

__version__ = "0.1.0"
