"""Replies that cannot be stored: the model is told, the run goes on, and nothing of them is in the way of a resume."""

import json
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from modes import Mode
from pydantic import BaseModel
from servers.openai_api import Answer, OpenAIServer, call

from crewgraph import LLM, Crew
from crewgraph.core.plain import NotPlain
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool

from .parts import agent, crew, served, task

DEEP = '{"what": ' + '{"a": ' * 500 + "1" + "}" * 501
LIST = '{"what": ' + "[" * 500 + "]" * 500 + "}"
SAME = r'{"what": {"\ud83c": 1, "\ufffd": 2}}'
IN_TEXT = json.dumps({"items": "[" * 300 + "]" * 300})

ran: list[object] = []


@tool
def look(what: object = None, items: list[Any] | None = None) -> str:
    """Look."""
    ran.append(what)
    return "seen"


class Measure(BaseModel):
    size: Any


def solo(url: str, *, by_text: bool = False, **of_task: Any) -> Crew:
    llm = LLM("openai/o1-mini", base_url=url, api_key="k") if by_text else served(url)
    return crew(task("a", agent(llm, tools=[] if of_task else [look], max_retry_limit=0), **of_task))


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        (DEEP, "nested more than 80 deep"),
        (LIST, "nested more than 80 deep"),
        (IN_TEXT, "nested more than 80 deep"),
        ('{"what": NaN}', "it holds nan, which is not JSON"),
        ('{"what": [-Infinity]}', "it holds -inf, which is not JSON"),
        (SAME, "names that are the same once they are stored"),
    ],
)
@pytest.mark.parametrize("by_text", [False, True])
def test_the_model_is_told_of_arguments_that_cannot_be_stored(
    mode: Mode, tmp_path: Path, written: str, problem: str, by_text: bool
):
    ran.clear()
    first: str | Answer = f"Action: look\nAction Input: {written}" if by_text else call("look", written)
    with OpenAIServer([first, "Final Answer: done"]) as server, SqliteCheckpointer(tmp_path / "runs.db") as saver:
        assert mode.kickoff(solo(server.url, by_text=by_text), thread_id="t", checkpointer=saver).raw == "done"
        assert problem in server.bodies[1]["messages"][-1]["content"]
    assert ran == []


def test_a_run_with_such_arguments_is_resumed(mode: Mode, tmp_path: Path):
    failing = {"now": True}

    @tool
    def stop() -> str:
        """Stop."""
        if failing["now"]:
            raise KeyboardInterrupt
        return "stopped"

    script = [call("look", DEEP), call("stop", {}), "done"]
    with OpenAIServer(script) as server, SqliteCheckpointer(tmp_path / "runs.db") as saver:
        made = crew(task("a", agent(served(server.url), tools=[look, stop])))
        with pytest.raises(KeyboardInterrupt):
            mode.kickoff(made, thread_id="t", checkpointer=saver)
        failing["now"] = False
        assert mode.resume(made, "t", checkpointer=saver).raw == "done"
        assert len(server.requests) == 3


@pytest.mark.parametrize("size", ["[" * 300 + "]" * 300, "9" * 40])
def test_a_structure_that_cannot_be_stored_is_requested_again(mode: Mode, tmp_path: Path, size: str):
    with (
        OpenAIServer([f'{{"size": {size}}}', '{"size": 7}']) as server,
        SqliteCheckpointer(tmp_path / "runs.db") as saver,
    ):
        made = solo(server.url, output_pydantic=Measure)
        assert mode.kickoff(made, thread_id="t", checkpointer=saver).pydantic == Measure(size=7)


def test_what_no_checkpoint_can_hold_is_named(tmp_path: Path):
    deep: object = 1
    for _ in range(300):
        deep = [deep]
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        config = saver.put({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, empty_checkpoint(), {}, {})
        for value in (deep, 1 << 70):
            with pytest.raises(NotPlain, match=r"cannot be stored in a checkpoint: .*nested up to 255 deep"):
                saver.put_writes(config, [("x", value)], "task")
