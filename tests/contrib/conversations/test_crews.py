"""Chats with crews: a model collects the inputs and runs the crew."""

import json
import os
import pty
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import processes
import pytest
from modes import Mode
from runtime.parts import agent, crew, task

from crewgraph import BaseLLM, Crew, ScriptedLLM, ToolUse
from crewgraph.crew import CrewConversation
from crewgraph.errors import NoModelError
from crewgraph.events import CrewKickoffStartedEvent
from crewgraph.llm.errors import MissingKey
from crewgraph.testing import record_events

ABOUT = {
    "crew_name": "tides",
    "crew_description": "Writes about a sea.",
    "inputs": [{"name": "sea", "description": "which sea"}, {"name": "json", "description": "the form"}],
}
GREETING = "Final Answer: Hello! Which sea?"


@pytest.fixture(params=["sync", "async", "sync-step", "async-step"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return Mode(request.param)


def tides(chat_llm: Any, answers: Any = ("Final Answer: high water",), **more: Any) -> Crew:
    worker = agent(ScriptedLLM(list(answers)), "Clerk")
    return crew(task("look", worker, description="Look at {sea} as {json}"), chat_llm=chat_llm, name="tides", **more)


def host(*script: Any, native: bool = False) -> ScriptedLLM:
    return ScriptedLLM([json.dumps(ABOUT), *script], native_tools=native)


def work(sea: str = "North Sea") -> ToolUse:
    return ToolUse("run_crew", {"sea": sea, "json": "text"})


def say(mode: Mode, chat: CrewConversation, text: str) -> str:
    return mode.run(chat.say, chat.asay, text)


@pytest.mark.parametrize("native", [True, False])
def test_the_model_greets_asks_for_the_inputs_and_has_the_crew_work(mode: Mode, native: bool):
    end = "" if native else "Final Answer: "
    model = host(f"{end}Hello! Which sea?", work(), f"{end}You are welcome.", native=native)
    one = tides(model)
    chat = one.conversation()
    assert mode.run(chat.greet, chat.agreet) == "Hello! Which sea?"
    with record_events() as events:
        assert say(mode, chat, "the North Sea, as text") == "high water"
    assert chat.output is not None and chat.output.raw == "high water"
    assert say(mode, chat, "thanks") == "You are welcome."
    assert [(one["role"], one["content"]) for one in chat.messages[1:]] == [
        ("assistant", "Hello! Which sea?"), ("user", "the North Sea, as text"), ("assistant", "high water"),
        ("user", "thanks"), ("assistant", "You are welcome."),
    ]  # fmt: skip
    inputs = next(one for one in events if isinstance(one, CrewKickoffStartedEvent)).inputs
    assert inputs is not None and (inputs["sea"], inputs["json"]) == ("North Sea", "text")
    said = json.loads(inputs["crew_chat_messages"])
    assert said[-1] == {"role": "user", "content": "the North Sea, as text"}
    assert len(one.runs()) == 1  # it is kept as any


def test_what_is_asked_for_is_described_from_the_tasks():
    model = host(GREETING)
    tides(model).conversation().greet()
    described, greeted = model.requests
    assert "Look at {sea} as {json}" in described.text and "json, sea" in described.text
    assert "Writes about a sea." in greeted.text and "- sea: which sea" in greeted.text


def test_the_crew_is_told_what_was_said():
    one = tides(host(work()))
    one.conversation().say("the North Sea, please")
    worker = one.agents[0].llm
    assert isinstance(worker, ScriptedLLM)
    assert (
        "User: the North Sea, please" in worker.requests[0].text
        and "Look at North Sea as text" in worker.requests[0].text
    )


def test_a_missing_input_is_asked_for_and_a_failing_crew_is_reported(mode: Mode):
    model = host(ToolUse("run_crew", {"sea": "North Sea"}), work(), "Final Answer: It could not be done.")
    chat = tides(model, [ConnectionError("no line")]).conversation()
    assert say(mode, chat, "the North Sea") == "It could not be done."
    assert "`json` is missing" in model.requests[2].text and "no line" in model.requests[3].text
    assert chat.output is None


def test_a_crew_without_inputs_can_begin_at_once():
    one = crew(task("look", agent(ScriptedLLM(["Final Answer: high water"]))), chat_llm=None)
    about = json.dumps({"crew_name": "x", "crew_description": "Looks.", "inputs": []})
    one.chat_llm = ScriptedLLM([about, ToolUse("run_crew", {})])
    assert one.conversation().say("go") == "high water"


def test_after_a_failed_request_it_is_as_if_nothing_had_been_said(mode: Mode):
    chat = tides(host(ConnectionError("down"), "Final Answer: Which sea?")).conversation()
    with pytest.raises(ConnectionError):
        say(mode, chat, "hello")
    assert chat.messages == []
    assert say(mode, chat, "hello") == "Which sea?"


def test_a_crew_that_gives_its_answer_in_pieces_can_be_talked_to(mode: Mode):
    assert say(mode, tides(host(work()), stream=True).conversation(), "go") == "high water"


def test_the_model_is_chat_llm_else_that_of_the_first_agent_else_the_environments(monkeypatch: pytest.MonkeyPatch):
    one = tides(None, [json.dumps(ABOUT), "Final Answer: by the clerk's model"])
    assert one.conversation().say("hi") == "by the clerk's model"
    one.agents[0].llm = None
    with pytest.raises(NoModelError):
        one.conversation()
    monkeypatch.setenv("MODEL", "openai/gpt-4o-mini")
    with pytest.raises(MissingKey, match="OPENAI_API_KEY"):
        one.conversation()
    one.chat_llm = "openai/gpt-4o-mini"
    with pytest.raises(MissingKey, match="OPENAI_API_KEY"):
        one.chat()


def test_the_wording_is_that_of_the_prompt_file(tmp_path: Path):
    prompts = tmp_path / "prompts.json"
    prompts.write_text(json.dumps({"chat": {"opening": "Say moin."}}))
    model = host(GREETING)
    tides(model, prompt_file=str(prompts)).conversation().greet()
    assert "Say moin." in model.requests[1].text


PROGRAM = f"""
import json
from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse

about = {ABOUT!r}
host = ScriptedLLM([json.dumps(about), "Final Answer: Hello! Which sea?", ConnectionError("down"),
    ToolUse("run_crew", {{"sea": "North Sea", "json": "text"}}), "Final Answer: You are welcome."])
clerk = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(["Final Answer: high water"]))
look = Task(description="Look at {{sea}} as {{json}}", expected_output="e", agent=clerk)
crew = Crew(name="tides", agents=[clerk], tasks=[look], chat_llm=host)
"""


ON_TERMINAL = (
    "import fcntl, runpy, sys, termios\n"
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # keys become signals\n"
    "sys.argv = ['crewgraph', 'chat']\n"
    "runpy.run_module('crewgraph', run_name='__main__')\n"
)


class Terminal:
    """A process with its own pseudo-terminal."""

    def __init__(self, folder: Path, *command: str) -> None:
        self.shown = ""
        self.terminal, theirs = pty.openpty()
        standard: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
        self.process = processes.Popen([sys.executable, *command], cwd=folder, start_new_session=True, **standard)
        os.close(theirs)

    def until(self, text: str) -> None:
        end = time.monotonic() + 100
        while text not in self.shown:
            with selectors.DefaultSelector() as waiting:
                waiting.register(self.terminal, selectors.EVENT_READ)
                ready = waiting.select(max(0.0, end - time.monotonic()))
            assert ready, f"{text!r} was not shown, but {self.shown!r}"
            try:
                self.shown += os.read(self.terminal, 4096).decode()
            except OSError:  # it was closed
                raise AssertionError(f"{text!r} was not shown, but {self.shown!r}") from None
        self.shown = self.shown.partition(text)[2]

    def types(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def presses(self, key: str) -> None:
        """Press a key until the program ends: readline misses a signal right after its prompt."""
        for _ in range(20):
            self.types(key)
            try:
                self.process.wait(2)
            except subprocess.TimeoutExpired:
                continue
            return

    def ended(self) -> tuple[int, str]:
        """Wait for its exit; return the exit code and the remaining output."""
        while True:
            try:
                more = os.read(self.terminal, 4096).decode()
            except OSError:
                break
            if not more:
                break
            self.shown += more
        return self.process.wait(100), self.shown

    def close(self) -> None:
        os.close(self.terminal)
        self.process.kill()
        self.process.wait()


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    root = Path(__file__).parents[3]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(root), str(root / "compat")]))
    (tmp_path / "team.py").write_text(PROGRAM)
    (tmp_path / "pyproject.toml").write_text('[tool.crewgraph]\ntarget = "team:crew"\n')
    shown = Terminal(tmp_path, "-c", ON_TERMINAL)
    try:
        shown.until("Hello! Which sea?")
        shown.until("> ")
        yield shown
    finally:
        shown.close()


def test_a_chat_on_the_terminal(terminal: Terminal):
    terminal.types("\n")
    terminal.until("> ")
    terminal.types("the North Sea\n")
    terminal.until("Error: ConnectionError: down")
    terminal.until("> ")
    terminal.types("once more: the North Sea\n")
    terminal.until("(running the crew: ")
    terminal.until("high water")
    terminal.until("> ")
    terminal.types("thanks\n")
    terminal.until("You are welcome.")
    terminal.until("> ")
    terminal.types("Exit\n")
    code, rest = terminal.ended()
    assert code == 0 and "Traceback" not in rest


def test_what_is_piped_in_is_what_was_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("the North Sea\nthanks\n"))
    chat = tides(host(GREETING, work(), "Final Answer: You are welcome.")).chat(checkpointer=False)
    assert (
        "Hello! Which sea?" in (output := capsys.readouterr().out)
        and "high water" in output
        and "You are welcome." in output
    )
    assert chat.output is not None and len(chat.messages) == 6
    assert isinstance(chat.crew.chat_llm, BaseLLM)
