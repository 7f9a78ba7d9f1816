"""A shop as a project: its texts are in config/, its parts are made here."""

# pyright: reportCallIssue=false
# What `config=` holds is not known before the files are read.

import os
from collections.abc import Sequence
from typing import Any

from crewgraph import Agent, BaseLLM, Crew, CrewOutput, ScriptedLLM, Task, ToolUse
from crewgraph.project import CrewBase, after_kickoff, agent, crew, llm, task, tool
from crewgraph.tools import BaseTool

__all__ = ["Shop"]


class Prices(BaseTool):
    """The price list."""

    name: str = "Price list"
    description: str = "The price of a product in euros."

    def _run(self, product: str) -> str:
        return {"lamp": "40", "desk": "260"}.get(product.lower(), "unknown")


@CrewBase
class Shop:
    """A clerk who knows the prices, and a writer of offers."""

    agents: list[Agent]
    tasks: list[Task]
    agents_config: Any = "config/agents.yaml"
    tasks_config: Any = "config/tasks.yaml"

    @llm
    def model(self) -> str | BaseLLM:
        """What `llm: model` in agents.yaml means."""
        return "openai/gpt-4o-mini" if os.environ.get("OPENAI_API_KEY") else ScriptedLLM(_scripted)

    @tool
    def prices(self) -> BaseTool:
        """What `tools: [prices]` in agents.yaml means."""
        return Prices()

    @agent
    def clerk(self) -> Agent:
        """Knows the prices."""
        return Agent(config=self.agents_config["clerk"])

    @agent
    def writer(self) -> Agent:
        """Writes offers."""
        return Agent(config=self.agents_config["writer"])

    @task
    def lookup(self) -> Task:
        """Comes first."""
        return Task(config=self.tasks_config["lookup"])

    @task
    def offer(self) -> Task:
        """Is told what the first found."""
        return Task(config=self.tasks_config["offer"])

    @crew
    def crew(self) -> Crew:
        """All of them."""
        return Crew(agents=[*self.agents], tasks=[*self.tasks])

    @after_kickoff
    def count(self, output: CrewOutput) -> None:
        """Is called with the result of a run."""
        print(f"{len(output.tasks_output)} tasks, {output.token_usage.successful_requests} requests")


def _scripted(messages: Sequence[dict[str, Any]]) -> str | ToolUse:
    """Stands in for a model where there is no key."""
    said = "\n".join(str(message["content"]) for message in messages)
    if "Offer a" in said:
        return "Final Answer: Dear Ada, the lamp is yours for 40 euros."
    return "Final Answer: 40 euros" if "Observation: 40" in said else ToolUse("Price_list", {"product": "lamp"})
