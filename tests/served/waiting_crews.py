"""The served crews, whose tools wait until a test releases them."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from waiting import wait_until

from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.tools import tool

__all__ = ["leaving", "poison", "steps", "two_bills"]


def _note(line: str) -> None:
    with open(Path(os.environ["OFFICE"]) / "notes", "a") as log:
        log.write(f"{line}\n")


def _wait_for(name: str) -> None:
    wait_until((Path(os.environ["OFFICE"]) / f"go {name}").exists)


@tool(require_approval=True)
def pay(bill: str) -> str:
    """Pay a bill."""
    _note(f"paid {bill}")
    return f"receipt {bill}"


@tool
def post(letter: str) -> str:
    """Post a letter."""
    _note(f"posting {letter}")
    _wait_for(letter)
    _note(f"posted {letter}")
    return f"posted {letter}"


@tool
def shred(letter: str) -> str:
    """Kill the process."""
    _note(f"shredding {letter}")
    os.kill(os.getpid(), signal.SIGKILL)
    return "shredded"


@tool
def leave() -> str:
    """Leave, as command lines do."""
    sys.exit(3)


def _paying(messages: list[dict[str, Any]]) -> Any:
    """Pay a bill, post a letter, pay another bill."""
    said = str(messages)
    for sign, use in (
        ("receipt first", ToolUse("pay", {"bill": "first"})),
        ("posted letter", ToolUse("post", {"letter": "letter"})),
        ("receipt second", ToolUse("pay", {"bill": "second"})),
    ):
        if sign not in said:
            return use
    return "Final Answer: all paid"


def _posting(messages: list[dict[str, Any]]) -> Any:
    letter = "one" if "<one>" in str(messages[1]) else "two"
    return (
        f"Final Answer: {letter} is sent"
        if f"posted {letter}" in str(messages)
        else ToolUse("post", {"letter": letter})
    )


def _clerk(script: Any, *tools: Any) -> Agent:
    return Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(script), tools=list(tools))


def _task(agent: Agent, name: str, description: str) -> Task:
    return Task(name=name, description=description, expected_output="A text", agent=agent, context=[])


def two_bills() -> Crew:
    """A crew whose one task asks twice: for the first bill, and after a letter for the second."""
    clerk = _clerk(_paying, pay, post)
    return Crew(name="two_bills", agents=[clerk], tasks=[_task(clerk, "pay", "Pay both bills.")])


def steps() -> Crew:
    """A crew that posts two letters, one in each task."""
    clerk = _clerk(_posting, post)
    return Crew(
        name="steps", agents=[clerk], tasks=[_task(clerk, letter, f"Post <{letter}>.") for letter in ("one", "two")]
    )


def poison() -> Crew:
    """A crew that kills whoever runs it."""
    clerk = _clerk([ToolUse("shred", {"letter": "this"})], shred)
    return Crew(name="poison", agents=[clerk], tasks=[_task(clerk, "shred", "Shred it.")])


def leaving() -> Crew:
    """A crew whose tool calls `sys.exit`."""
    clerk = _clerk([ToolUse("leave", {})], leave)
    return Crew(name="leaving", agents=[clerk], tasks=[_task(clerk, "leave", "Leave.")])
