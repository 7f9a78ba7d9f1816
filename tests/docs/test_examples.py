"""The examples run as they stand, without a key, and print what they are there to show."""

import asyncio
import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import processes
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from servers.openai_api import OpenAIServer, call

from docs.pages import ROOT, environment

PRINTED = {
    "led_by_a_manager": [
        "waits:  agent `Letter writer` in task `answer` asks whether it may call `post(letter='Dear mayor, 7,312.')`",
        "result: The mayor is told.",
        "posted: ['Dear mayor, 7,312.']",
        "Crew Manager: 3 requests",
        "Clerk: 1 requests",
        "Letter writer: 2 requests",
    ],
    "port_a_crew": ["Clerk: 40 euros", "Writer: Dear Ada, the lamp is yours for 40 euros.", "3 requests"],
    "knowledge/main": [
        "searched: Can a lamp be sent back",
        "known:    Returns",
        "answer:   A lamp may be sent back within 30 days. Candles are not taken back.",
    ],
    "project/main": ["2 tasks, 3 requests", "Dear Ada, the lamp is yours for 40 euros."],
    "nest_in_langgraph": [
        "asked:   You may send it back within 30 days.",
        "sent:    You may send it back within 30 days.",
        "history: 5 checkpoints",
    ],
    "triage_a_ticket": [
        "asked:   May it be sent? Dear Ada, you have 30 days and may send the lamp back.",
        "sent to Ada: Dear Ada, you have 30 days and may send the lamp back.",
        "history: write review write review approve post",
    ],
    "resume_after_kill": [
        "child:  killed in its second task, exit code -9",
        "facts:  The moon raises the tides.",
        "text:   Twice a day the moon lifts the sea.",
        "asked:  0 requests to the researcher's model, 1 to the writer's",
    ],
}


def play(name: str, storage: Path, **more: str) -> list[str]:
    done = processes.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py")],
        cwd=storage,
        env=environment(storage, **more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_prints_what_it_shows(name: str, tmp_path: Path):
    assert play(name, tmp_path) == PRINTED[name]


def test_every_example_is_run_by_a_test():
    examples = ROOT / "examples"
    found = [*examples.glob("*.py"), *examples.glob("*/main.py")]
    assert {path.relative_to(examples).with_suffix("").as_posix() for path in found} == {"demo", *PRINTED}


def test_the_ported_crew_asks_a_real_endpoint_where_there_is_a_key(tmp_path: Path):
    with OpenAIServer([call("Price_list", {"product": "lamp"}), "40 euros", "The lamp costs 40 euros."]) as server:
        printed = play("port_a_crew", tmp_path, OPENAI_API_KEY="test", OPENAI_BASE_URL=server.url)
    assert printed == ["Clerk: 40 euros", "Writer: The lamp costs 40 euros.", "3 requests"]
    assert [body["model"] for body in server.bodies] == ["gpt-4o-mini"] * 3
    assert "40" in str(server.bodies[1]["messages"][-1]["content"])


def test_the_ticket_is_answered_by_a_real_endpoint_where_there_is_a_key(tmp_path: Path):
    answers = ["Yes.", "Dear Ada, yes.", "Yes.", "Dear Ada, within 30 days."]
    with OpenAIServer(answers) as server:
        printed = play("triage_a_ticket", tmp_path, OPENAI_API_KEY="test", OPENAI_BASE_URL=server.url)
    assert printed[1:] == ["sent to Ada: Dear Ada, within 30 days.", PRINTED["triage_a_ticket"][2]]
    assert "it does not name the rule" in str(server.bodies[3]["messages"])


def test_a_server_is_told_of_a_flow_and_of_a_crew():
    examples = ROOT / "examples"
    named: dict[str, str] = json.loads((examples / "langgraph.json").read_text("utf-8"))["graphs"]
    graphs: dict[str, Any] = {}
    for name, place in named.items():
        path, _, function = place.partition(":")
        made = runpy.run_path(str(examples / path))[function]()
        graphs[name] = made.copy(update={"checkpointer": InMemorySaver()})  # as a server does
    assert list(graphs) == ["triage", "letters"]
    config: RunnableConfig = {"configurable": {"thread_id": "1"}}
    ticket = {"inputs": {"customer": "Ada", "question": "Can I return my lamp?"}}
    stopped = asyncio.run(graphs["triage"].ainvoke(ticket, config))
    assert stopped["__interrupt__"][0].value["questions"][0]["outcomes"] == ("send", "hold")
    done = asyncio.run(graphs["triage"].ainvoke(Command(resume="hold"), config))
    assert done["output"] == "held back: hold"
    inputs = {**ticket["inputs"], "order": "a lamp", "rule": "30 days", "objection": "nothing"}
    assert graphs["letters"].invoke({"inputs": inputs}, config)["letter"]["raw"] == "Dear Ada, of course."


def test_what_the_readme_shows_of_the_killed_run_is_what_the_example_prints():
    readme = (ROOT / "README.md").read_text("utf-8")
    assert "\n".join(PRINTED["resume_after_kill"]) in readme
