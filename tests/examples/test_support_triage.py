"""The flow of tickets: it survives a kill while its crew writes, and LangGraph's server can serve it."""

import asyncio
import json
import runpy
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import processes
import pytest
from docs.pages import environment
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from servers.openai_api import Answer, OpenAIServer, Request

from .run_example import EXAMPLES, copy_example, run_command, stand_in


def test_a_run_that_is_killed_while_its_crew_writes_continues_without_asking_again(tmp_path: Path):
    folder, model = copy_example("support_triage", tmp_path), stand_in("support_triage")
    writing, killed = threading.Event(), threading.Event()

    def answer(request: Request) -> Answer:
        if "Write the letter" in str(request.body["messages"]) and not killed.is_set():
            writing.set()
            killed.wait(60)
        return model(request)

    with OpenAIServer(answer) as server:
        key = {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": server.url}
        with processes.Popen(
            [sys.executable, "main.py", "open", "T-1043"],
            cwd=folder,
            env=environment(tmp_path / "storage", **key),
            stdin=subprocess.DEVNULL,
        ) as process:
            assert writing.wait(120)
            process.kill()
        killed.set()
        assert run_command(folder, "python", "main.py", "list", env=key).startswith(
            "T-1043: abandoned, last step: route"
        )
        before = len(server.bodies)
        resumed = run_command(folder, "python", "main.py", "resume", env=key)
        assert "Please quote your order LO-4980." in resumed
        kinds = ["Decide" if "Decide what we offer" in str(body) else "Write" for body in server.bodies[before:]]
        assert kinds == ["Write", "Decide", "Write"]  # the letter that was under way, then a second draft of the crew
    assert run_command(folder, "python", "main.py", "list") == "T-1043: waiting, last step: review\n"


def test_opening_a_ticket_again_shows_its_question_and_later_its_result(tmp_path: Path):
    folder = copy_example("support_triage", tmp_path)
    asked = run_command(folder, "python", "main.py", "open", "T-1043")
    assert run_command(folder, "python", "main.py", "open", "T-1043") == asked
    done = run_command(folder, "python", "main.py", "answer", "T-1043", "hold")
    assert (
        done
        == run_command(folder, "python", "main.py", "open", "T-1043")
        == "T-1043: held back (hold) after 2 drafts\n"
    )


def test_a_server_is_told_about_the_flow_and_the_crew(monkeypatch: pytest.MonkeyPatch):
    folder = EXAMPLES / "support_triage"
    reported: dict[str, Any] = json.loads((folder / "langgraph.json").read_text("utf-8"))
    assert [(folder / place).resolve() for place in reported["dependencies"]] == [folder, EXAMPLES.parent]
    monkeypatch.syspath_prepend(str(folder))  # what the server does with its dependencies
    monkeypatch.delitem(sys.modules, "stand_in", raising=False)
    graphs: dict[str, Any] = {}
    for name, place in reported["graphs"].items():
        path, _, function = place.partition(":")
        made = runpy.run_path(str(folder / path))[function]()
        graphs[name] = made.copy(update={"checkpointer": InMemorySaver()})  # as a server does
    monkeypatch.delitem(sys.modules, "stand_in")
    config: RunnableConfig = {"configurable": {"thread_id": "1"}}
    ticket = json.loads((folder / "tickets.json").read_text("utf-8"))["T-1042"]
    stopped = asyncio.run(graphs["triage"].ainvoke({"inputs": {"number": "T-1042", **ticket}}, config))
    assert stopped["__interrupt__"][0].value["questions"][0]["outcomes"] == ("send", "hold", "change")
    done = asyncio.run(graphs["triage"].ainvoke(Command(resume="hold"), config))
    assert done["output"] == "held back (hold) after 2 drafts"
    inputs = {**ticket, "bought": "a lamp", "policy": "30 days", "objection": "nothing yet"}
    assert "we refund 129.00 euros" in graphs["letters"].invoke({"inputs": inputs}, config)["letter"]["raw"]
