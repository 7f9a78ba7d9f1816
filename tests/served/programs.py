"""The served crews and flows, which need no model provider, as objects and as graphs for LangGraph's server."""

import os
import time
from typing import Any

from langchain.agents.middleware import HumanInTheLoopMiddleware
from pydantic import BaseModel

from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.flow import Flow, human_feedback, listen, start
from crewgraph.tools import tool

__all__ = ["Letters", "desk", "graphs", "payer", "reviewed", "slow"]


def _note(line: str) -> None:
    with open(os.environ["SERVED_LOG"], "a") as log:
        log.write(f"{line}\n")


@tool(require_approval=True)
def pay(bill: str) -> str:
    """Pay a bill."""
    _note(f"paid {bill}")
    return f"receipt {bill}"


@tool
def wait(name: str, step: str) -> str:
    """Wait a second."""
    _note(f"{name} {step}")
    time.sleep(float(os.environ.get("SERVED_SECONDS", "1")))
    return f"waited {step}"


def _between(text: str, before: str, after: str) -> str:
    return text.rpartition(before)[2].partition(after)[0]


def _paying(messages: list[dict[str, Any]]) -> Any:
    bill = _between(str(messages), "bill <", ">")
    return f"Final Answer: paid {bill}" if f"receipt {bill}" in str(messages) else ToolUse("pay", {"bill": bill})


def _waiting(messages: list[dict[str, Any]]) -> Any:
    name, step = _between(str(messages), "Wait <", ">").split()
    done = f"waited {step}" in str(messages)
    return f"Final Answer: {step} of {name}" if done else ToolUse("wait", {"name": name, "step": step})


def _looking(messages: list[dict[str, Any]]) -> str:
    return f"Final Answer: {_between(str(messages), 'at <', '>')} it is"


def _clerk(script: Any, **more: Any) -> Agent:
    return Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(script, stream=True), **more)


def _task(agent: Agent, name: str, description: str) -> Task:
    return Task(name=name, description=description, expected_output="A text", agent=agent, context=[])


def desk() -> Crew:
    """A crew of two tasks that repeat their topic."""
    clerk = _clerk(_looking)
    return Crew(
        name="desk",
        agents=[clerk],
        tasks=[_task(clerk, "look", "Look at <{topic}>."), _task(clerk, "tell", "Look at <{topic}>.")],
    )


def payer() -> Crew:
    """A crew with a tool that needs approval."""
    clerk = _clerk(_paying, tools=[pay])
    return Crew(name="payer", agents=[clerk], tasks=[_task(clerk, "pay", "Pay the bill <{bill}>.")])


@tool
def post(letter: str) -> str:
    """Post a letter."""
    _note(f"posted {letter}")
    return f"posted {letter}"


def _posting(messages: list[dict[str, Any]]) -> Any:
    letter = _between(str(messages), "letter <", ">")
    return "done" if len(messages) > 2 else ToolUse("post", {"letter": letter})


def reviewed() -> Crew:
    """A crew whose agent asks by LangChain's middleware before it calls a tool."""
    llm = ScriptedLLM(_posting, native_tools=True)
    review = HumanInTheLoopMiddleware(interrupt_on={"post": True})
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=llm, tools=[post], middleware=[review])
    return Crew(name="reviewed", agents=[clerk], tasks=[_task(clerk, "send", "Post the letter <{letter}>.")])


def slow() -> Crew:
    """A crew of two tasks that take a second each."""
    clerk = _clerk(_waiting, tools=[wait])
    tasks = [_task(clerk, step, f"Wait <{{name}} {step}>.") for step in ("first", "second")]
    return Crew(name="slow", agents=[clerk], tasks=tasks)


class Letter(BaseModel):
    """The state of `Letters`."""

    name: str = "all"


class Letters(Flow[Letter]):
    """A flow that asks for feedback."""

    @start()
    @human_feedback(message="Will it do?")
    def draft(self) -> str:
        """Draft it."""
        return f"Dear {self.state.name}"

    @listen(draft)
    def send(self, result: Any) -> str:
        """Send it."""
        return f"sent: {result.output}, {result.feedback}"


def graphs() -> dict[str, Any]:
    """The compiled graphs by name."""
    return {
        "desk": desk().compile(messages=True), "payer": payer().compile(messages=True),
        "reviewed": reviewed().compile(messages=True), "slow": slow().compile(messages=True),
        "Letters": Letters().compile(messages=True),
    }  # fmt: skip
