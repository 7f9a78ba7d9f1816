"""A crew whose agent has middleware, and that is killed: `python -m kills.crew_with_middleware FOLDER [KILL]`.

Starts or resumes its run, and prints the result. Each request, call and hook leaves a line `E ...` in the ledger.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain.agents.middleware import AgentMiddleware

from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool
from kills.ledger import Ledger
from kills.program import watched

__all__ = ["main"]


class Twice(AgentMiddleware[Any, Any]):
    """Makes each request and each tool call twice, so that a step has several, and uses the second result."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def before_model(self, state: Any, runtime: Any) -> None:
        """Write a line to the ledger."""
        self._ledger.effect(f"before-{len(state['messages'])}")

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        """Make the request twice."""
        handler(request)
        return handler(request.override(system_prompt=f"{request.system_prompt} Again."))

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Make the call twice."""
        handler(request)
        return handler(request)


def _crew(ledger: Ledger, saver: Any) -> Crew:
    @tool
    def look(where: str) -> str:
        """Look somewhere."""
        ledger.effect(f"look-{where}")
        return f"high water at {where}"

    def reply(messages: Sequence[dict[str, Any]]) -> Any:
        again = "again" if str(messages[0]["content"]).endswith("Again.") else "first"
        ledger.effect(f"model-{len(messages)}-{again}")
        return [ToolUse("look", {"where": "Brest"}), "04:12"][len(messages) > 2]

    worker = Agent(
        role="w",
        goal="g",
        backstory="b",
        llm=ScriptedLLM(reply, native_tools=True),
        tools=[look],
        cache=False,
        middleware=[Twice(ledger)],
    )
    task = Task(description="When is it high?", expected_output="x", agent=worker)
    return Crew(agents=[worker], tasks=[task], checkpointer=saver)


def main(folder: Path, kill: str) -> None:
    """Start or resume the run, and print the result."""
    ledger = Ledger(str(folder / "ledger.txt"), kill)
    with watched(SqliteCheckpointer, ledger)(folder / "runs.db") as saver:
        crew = _crew(ledger, saver)
        began = saver.get_tuple({"configurable": {"thread_id": "t"}}) is not None
        output = crew.resume("t") if began else crew.kickoff(thread_id="t")
        print(output.raw, output.token_usage.successful_requests)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "")
