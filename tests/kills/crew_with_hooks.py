"""A crew with a plan, a skill and hooks, which is killed: `python -m kills.crew_with_hooks FOLDER [KILL]`.

Starts or resumes its run, and prints the result. Each request, hook and call leaves a line `E ...` in the ledger.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.definitions.agent.planning import PlanningConfig
from crewgraph.hooks import after_llm_call, after_tool_call, before_llm_call, before_tool_call
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool
from kills.ledger import Ledger
from kills.program import watched

__all__ = ["main"]

_STEPS: list[dict[str, Any]] = [
    {"step_number": 1, "description": "Look up high water", "depends_on": []},
    {"step_number": 2, "description": "Name the time", "depends_on": [1]},
]
_PLAN = json.dumps({"plan": "Look, then name.", "steps": _STEPS, "ready": True})
_SKILL = "---\nname: tides\ndescription: Read tide tables.\n---\nGive times in UTC.\n"


def _crew(folder: Path, ledger: Ledger, saver: Any) -> Crew:
    @tool
    def look(where: str) -> str:
        """Look somewhere."""
        ledger.effect("look")
        return f"high water at {where}"

    def reply(messages: Sequence[dict[str, Any]]) -> Any:
        # Stateless: the reply depends only on the conversation, also in a new process.
        said, asked = sum(message["role"] == "assistant" for message in messages), str(messages[1]["content"])
        if "Plan this task" in asked:
            name, answer = "plan", _PLAN
        elif "The step just done: " in asked:
            step = asked.partition("just done: ")[2][0]
            name, answer = f"review-{step}", json.dumps({"step_completed_successfully": True})
        elif "this step now:\nLook up" in asked:
            uses = [ToolUse("load_skill", {"skill_name": "tides"}), ToolUse("look", {"where": "Brest"})]
            name, answer = (
                f"first-{said}",
                [*uses, "04:12" if "Give times in UTC" in str(messages) else "no skill"][said],
            )
        else:
            name, answer = ("second", "it is 04:12") if "this step now:" in asked else ("whole", "04:12 UTC")
        assert messages[-1]["content"] == "hooked"
        ledger.effect(f"model-{name}")
        return answer

    worker = Agent(
        role="w",
        goal="g",
        backstory="b",
        llm=ScriptedLLM(reply, native_tools=True),
        tools=[look],
        skills=[str(folder / "skills")],
        planning_config=PlanningConfig(),
    )
    task = Task(description="When is it high?", expected_output="x", agent=worker)
    return Crew(agents=[worker], tasks=[task], checkpointer=saver)


def _hooked(ledger: Ledger) -> None:
    def say(kind: str, about: str) -> None:
        ledger.effect(f"{kind}-{about}".replace(" ", "_"))

    @before_llm_call
    def before(context: Any) -> None:
        say("before", str(sum(map(len, map(str, context.messages)))))
        context.messages.append({"role": "user", "content": "hooked"})

    @after_llm_call
    def after(context: Any) -> None:
        say("after", str(sum(map(len, map(str, context.messages)))))

    @before_tool_call
    def ready(context: Any) -> None:
        say("ready", context.tool_name)

    @after_tool_call
    def used(context: Any) -> str:
        say("used", context.tool_name)
        return f"{context.tool_result}, seen"

    assert all([before, after, ready, used])


def main(folder: Path, kill: str) -> None:
    """Start or resume the run, and print the result."""
    skill = folder / "skills" / "tides"
    skill.mkdir(parents=True, exist_ok=True)
    (skill / "SKILL.md").write_text(_SKILL)
    ledger = Ledger(str(folder / "ledger.txt"), kill)
    _hooked(ledger)
    with watched(SqliteCheckpointer, ledger)(folder / "runs.db") as saver:
        crew = _crew(folder, ledger, saver)
        began = saver.get_tuple({"configurable": {"thread_id": "t"}}) is not None
        output = crew.resume("t") if began else crew.kickoff(thread_id="t")
        print(output.raw)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "")
