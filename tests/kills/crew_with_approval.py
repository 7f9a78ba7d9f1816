"""A crew that pays after an approval and sends a note, in a process whose clock is wrong and which may die at any point.

Each effect leaves a line `E name` in a file outside of any checkpoint, and each of its records a line `R`.
"""

import asyncio
import json
import sys
import time
from typing import Any

from crewgraph import Agent, Crew, PendingCrew, ScriptedLLM, Task, ToolUse
from crewgraph.errors import RunError, ThreadBusy, ToolFailed
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool
from kills.ledger import Ledger
from kills.program import watched

__all__ = ["run_order"]


def office(ledger: Ledger, number: int) -> Crew:
    """The crew of the run with this number."""

    @tool(require_approval=True)
    def pay(bill: str) -> str:
        """Pay a bill."""
        ledger.effect(f"pay {bill}")
        return "paid"

    @tool(once=True)
    def note(bill: str) -> str:
        """Send a note about a bill."""
        ledger.effect(f"note {bill}")
        return "sent"

    def said(messages: Any) -> Any:
        reported = str(messages)
        name = "pay" if "Pay bill" in reported else "note"
        bill = reported.partition("bill <")[2].partition(">")[0]
        answered = [message for message in messages if message["role"] == "assistant"]
        ledger.effect(f"model {name} {len(answered)} {bill}")
        return f"Final Answer: {name} {bill}" if answered else ToolUse(name, {"bill": bill})

    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(said), tools=[pay, note], max_retry_limit=0)
    tasks = [
        Task(name="pay", description="Pay bill <{number}>.", expected_output="A word", agent=clerk),
        Task(name="note", description="Send a note about bill <{number}>.", expected_output="A word", agent=clerk),
    ]
    return Crew(agents=[clerk], tasks=tasks, name="office")


def run_order(order: dict[str, Any]) -> str:
    """Execute an order and return the result."""
    ledger = Ledger(order["ledger"], order["kill"])
    now, offset = time.time_ns, int(order["clock"] * 1e9)
    time.time_ns = lambda: now() + offset
    crew = office(ledger, order["number"])
    with watched(SqliteCheckpointer, ledger)(order["database"]) as saver:
        keep: Any = {"checkpointer": saver}
        method_names: dict[str, Any] = {
            "kickoff": (crew.kickoff, crew.akickoff, [{"number": order["number"]}], {"thread_id": "t", **keep}),
            "resume": (crew.resume, crew.aresume, ["t"], keep),
            "approve": (crew.resume, crew.aresume, ["t", True], keep),
            "reject": (crew.resume, crew.aresume, ["t", {"approved": False, "reason": "no"}], keep),
            "fork": (crew.fork, crew.afork, ["note"], {"thread_id": "t", **keep}),
        }
        sync, asynchronous, args, named = method_names[order["method"]]

        async def within() -> Any:
            return await asyncio.wait_for(asynchronous(*args, **named), order["seconds"])

        try:
            output = asyncio.run(within()) if order["seconds"] is not None else sync(*args, **named)
        except TimeoutError:
            return "cancelled"
        except ThreadBusy:
            return "busy"
        except ToolFailed as error:
            return "unknown" if "unknown whether it finished" in str(error) else f"failed: {error}"
        except RunError as error:
            return f"refused: {error}"
        return "waits" if isinstance(output, PendingCrew) else f"done: {output.raw}"


if __name__ == "__main__":
    print(run_order(json.loads(sys.argv[1])))
