"""Training: people give feedback, answers are improved, lessons are derived, and later runs apply them."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import processes
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode
from servers.openai_api import Answer, OpenAIServer, Request, text

from crewgraph import Crew, ScriptedLLM, TaskOutput
from crewgraph.errors import CompileError, RunError, StorageError
from crewgraph.testing import record_events
from runtime.parts import agent, asked, crew, served, task

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["sync", "async"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return Mode(request.param)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lessons(*suggestions: str, quality: float = 7) -> str:
    return json.dumps({"suggestions": suggestions, "quality": quality, "final_summary": "do better"})


def taught(messages: Sequence[dict[str, Any]]) -> str:
    """A script without state: improves what it is told to improve, and draws one lesson from all that was said."""
    last = str(messages[-1]["content"])
    if "The agent:" in last:
        said = [part.split("\n")[0] for part in last.split("The feedback:\n")[1:]]
        return lessons(f"LESSON {' + '.join(said)}")
    if "A person reviewed" in last:
        return f"better: {last.splitlines()[1]}"
    return last.partition("do ")[2].split("\n")[0]


def says(*feedback: Any) -> tuple[Callable[[TaskOutput], str], list[TaskOutput]]:
    """Somebody who is asked, and what was shown."""
    shown: list[TaskOutput] = []
    answers = iter(feedback)

    def ask(output: TaskOutput) -> str:
        shown.append(output)
        said = next(answers)
        if isinstance(said, BaseException):
            raise said
        return said

    return ask, shown


def train(
    mode: Mode,
    team: Crew,
    n: int,
    file: str,
    inputs: Any = None,
    *,
    feedback: Callable[[TaskOutput], Any] | None = None,
) -> None:
    asks = feedback
    mode.run(lambda: team.train(n, file, inputs, feedback=asks), lambda: team.atrain(n, file, inputs, feedback=asks))


def held(file: str) -> dict[str, Any]:
    return json.loads(Path(file).read_text("utf-8"))


def said_in(file: str) -> list[tuple[int, str, str, str, str]]:
    names = ("iteration", "task", "initial_output", "human_feedback", "improved_output")
    return [cast(Any, tuple(one[name] for name in names)) for one in held(file)["training"]["feedback"]]


def two(llm: Any, **more: Any) -> Crew:
    return crew(task("dive", agent(llm, role="Diver")), task("rise", agent(llm, role="Pilot")), **more)


def test_an_answer_is_improved_by_what_a_person_says_before_the_next_task_begins(mode: Mode):
    llm = ScriptedLLM(taught)
    ask, shown = says("deeper", "faster")
    train(mode, two(llm), 1, "x.json", feedback=ask)
    assert [(one.name, one.raw, one.agent) for one in shown] == [("dive", "dive", "Diver"), ("rise", "rise", "Pilot")]
    assert said_in("x.json") == [
        (1, "dive", "dive", "deeper", "better: deeper"),
        (1, "rise", "rise", "faster", "better: faster"),
    ]
    assert [message["role"] for message in llm.requests[1].messages] == ["system", "user", "assistant", "user"]
    assert "better: deeper" in asked(llm)[2]


def test_an_empty_line_accepts_the_answer_and_nothing_is_learned_from_it(mode: Mode):
    llm = ScriptedLLM(taught)
    ask, _ = says("deeper", " ")
    train(mode, two(llm), 1, "x.json", feedback=ask)
    assert said_in("x.json")[1] == (1, "rise", "rise", "", "rise")
    assert list(held("x.json")["agents"]) == ["Diver"]
    assert len(llm.requests) == 4


def test_an_agent_keeps_to_what_was_said_in_earlier_rounds(mode: Mode):
    llm = ScriptedLLM(taught)
    ask, _ = says("deeper", "faster", "", "")
    train(mode, two(llm), 2, "x.json", feedback=ask)
    first, second = asked(llm)[4:6]
    assert "- deeper" in first and "faster" not in first
    assert "- faster" in second and "- deeper" not in second


def test_lessons_are_drawn_from_all_rounds_for_each_agent(mode: Mode):
    llm, team = ScriptedLLM(taught), two(ScriptedLLM([]))
    for one in team.agents:
        one.llm = llm
    ask, _ = says("deeper", "faster", "slower", "")
    train(mode, team, 2, "x.json", feedback=ask)
    assert held("x.json")["agents"] == {
        "Diver": {"suggestions": ["LESSON deeper + slower"], "quality": 7.0, "final_summary": "do better"},
        "Pilot": {"suggestions": ["LESSON faster"], "quality": 7.0, "final_summary": "do better"},
    }
    assert team.training_data == held("x.json")["agents"]
    assert team.training is False


def test_a_function_that_is_async_is_awaited(mode: Mode):
    async def ask(output: TaskOutput) -> str:
        return "deeper"

    train(mode, crew(task("dive", agent(ScriptedLLM(taught)))), 1, "x.json", feedback=ask)
    assert said_in("x.json") == [(1, "dive", "dive", "deeper", "better: deeper")]


def test_what_returns_no_text_is_reported(mode: Mode):
    with pytest.raises(TypeError, match="`feedback` returned 7"):
        train(mode, two(ScriptedLLM(taught)), 1, "x.json", feedback=lambda output: 7)


def test_a_later_run_keeps_to_what_its_agents_were_taught(mode: Mode):
    def answered(request: Request) -> Answer:
        return text(taught(request.body["messages"]))

    with OpenAIServer(answered) as server:
        ask, _ = says("deeper", "")
        train(mode, two(served(server.url)), 1, "trained_agents_data.json", feedback=ask)
        before = len(server.bodies)
        mode.kickoff(two(served(server.url)))
        first, second = (str(body["messages"][-1]["content"]) for body in server.bodies[before:])
    assert "- LESSON deeper" in first
    assert "LESSON" not in second


def test_what_was_taught_may_be_given_as_data(mode: Mode):
    llm = ScriptedLLM(taught)
    data = {"Diver": {"suggestions": ["BREATHE"], "quality": 3, "final_summary": ""}}
    team = two(llm, training_data=data)
    mode.kickoff(team.copy())
    assert "- BREATHE" in asked(llm)[0] and "BREATHE" not in asked(llm)[1]


@pytest.mark.parametrize("name", ["x", "x.pkl"])
def test_nothing_is_pickled_and_that_is_said(mode: Mode, caplog: pytest.LogCaptureFixture, name: str):
    train(mode, two(ScriptedLLM(taught)), 1, name, feedback=lambda output: "")
    assert held("x.json")["version"] == 1
    assert os.listdir() == ["x.json"]
    assert "lessons are stored in `x.json`" in caplog.text


def test_a_pickle_is_never_opened(mode: Mode, folder: Path, caplog: pytest.LogCaptureFixture):
    # Whoever opens it as a pickle makes a file.
    bomb = b"\x80\x02cbuiltins\nopen\n(X\x08\x00\x00\x00explodedX\x01\x00\x00\x00wtR."
    for name in ("x.pkl", "trained_agents_data.pkl", "y.json"):
        Path(name).write_bytes(bomb)
    train(mode, two(ScriptedLLM(taught)), 1, "x.pkl", feedback=lambda output: "")
    assert "the pickle `x.pkl` is not opened" in caplog.text
    mode.kickoff(two(ScriptedLLM(taught)))
    with pytest.raises(StorageError, match=r"`y\.json` is a pickle(.|\n)*not opened"):
        train(mode, two(ScriptedLLM([])), 1, "y.json", feedback=lambda output: "")
    assert not (folder / "exploded").exists()


def test_the_file_is_for_its_owner_alone(mode: Mode):
    train(mode, two(ScriptedLLM(taught)), 1, "x.json", feedback=lambda output: "")
    assert stat.S_IMODE(Path("x.json").stat().st_mode) == 0o600


def test_a_training_of_no_rounds_does_nothing_and_a_number_that_is_none_is_refused(mode: Mode):
    train(mode, two(ScriptedLLM([])), 0, "x.json", feedback=lambda output: "")
    numbers: list[Any] = ["3", True]
    for n in numbers:
        with pytest.raises(TypeError, match="integer"):
            train(mode, two(ScriptedLLM([])), n, "x.json", feedback=lambda output: "")
    assert os.listdir() == []


@pytest.mark.parametrize(
    ("file", "kind", "reported"),
    [
        ("", RunError, "pass the name of a file"),
        (7, RunError, "pass the name of a file"),
        ("sub", RunError, "`sub` is a folder"),
        ("nowhere/x.json", StorageError, "there is no folder `nowhere`"),
        ("/proc/x.json", StorageError, "cannot be written"),
        ("broken.json", StorageError, r"`broken\.json` is not a training file: it is not JSON"),
        ("other.json", StorageError, r"`other\.json` is not a training file: .*colour"),
        ("later.json", StorageError, "has version 2; this version of crewgraph reads version 1"),
    ],
)
def test_a_file_that_cannot_be_used_is_reported_before_anything_is_paid_for(
    mode: Mode, file: Any, kind: type[Exception], reported: str
):
    Path("sub").mkdir()
    Path("broken.json").write_text('{"version": 1,')
    Path("other.json").write_text('{"colour": "red"}')
    Path("later.json").write_text('{"version": 2}')
    with pytest.raises(kind, match=reported):
        train(mode, two(ScriptedLLM([])), 1, file, feedback=lambda output: "")


def test_without_anybody_to_ask_nothing_is_paid_for(mode: Mode):
    with record_events() as events, pytest.raises(RunError, match=r"no terminal(.|\n)*feedback="):
        train(mode, two(ScriptedLLM([])), 1, "x.json")
    assert (events, os.listdir()) == ([], [])


def test_a_crew_that_says_it_is_in_training_is_not_kicked_off(mode: Mode):
    with pytest.raises(CompileError, match=r"crew\.train\(n_iterations, filename\)"):
        mode.kickoff(two(ScriptedLLM([]), training=True))


def test_a_training_continues_where_it_stopped(mode: Mode):
    llm = ScriptedLLM(["a", "b", "c", ConnectionError("down"), "d", "e", "f", "g", "h", lessons("L"), lessons("M")])
    ask, shown = says("one", "two", "three", "four")
    team = two(llm, checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        train(mode, team, 2, "x.json", feedback=ask)
    assert [one.raw for one in shown] == ["a", "c"]
    train(mode, team, 2, "x.json", feedback=ask)
    assert [one.raw for one in shown] == ["a", "c", "e", "g"]
    assert said_in("x.json") == [
        (1, "dive", "a", "one", "b"), (1, "rise", "c", "two", "d"), (2, "dive", "e", "three", "f"),
        (2, "rise", "g", "four", "h"),
    ]  # fmt: skip
    assert held("x.json")["training"]["finished"]


@pytest.mark.parametrize(("inputs", "reported"), [({"a": 2}, "with other inputs"), ({"a": 1}, "with another crew")])
def test_a_file_with_another_training_that_is_not_finished_is_left_alone(mode: Mode, inputs: Any, reported: str):
    team = two(ScriptedLLM(["a", ConnectionError("down")]))
    with pytest.raises(ConnectionError):
        train(mode, team, 2, "x.json", {"a": 1}, feedback=lambda output: "")
    before = held("x.json")
    other = two(ScriptedLLM([])) if "inputs" in reported else crew(task("sleep", agent(ScriptedLLM([]))))
    with pytest.raises(RunError, match=rf"an unfinished training {reported}: 0 of 2 rounds(.|\n)*another file name"):
        train(mode, other, 2, "x.json", inputs, feedback=lambda output: "")
    assert held("x.json") == before


def test_a_new_training_keeps_what_other_agents_have_learned(mode: Mode):
    train(mode, two(ScriptedLLM(taught)), 1, "x.json", feedback=lambda output: "deeper")
    train(
        mode,
        crew(task("dive", agent(ScriptedLLM(taught), role="Diver"))),
        1,
        "x.json",
        feedback=lambda output: "slower",
    )
    agents = held("x.json")["agents"]
    assert (agents["Diver"]["suggestions"], agents["Pilot"]["suggestions"]) == (["LESSON slower"], ["LESSON deeper"])


_PROGRAM = """
import json, os, sys
from crewgraph import Agent, Crew, ScriptedLLM, Task

def reply(messages):
    last = str(messages[-1]["content"])
    print("model:", "lessons" if "The agent:" in last else "better" if "A person reviewed" in last else "work", flush=True)
    if "The agent:" in last:
        return json.dumps({"suggestions": [f"{last.count('The feedback:')} things"], "quality": 7, "final_summary": "s"})
    return "better" if "A person reviewed" in last else "work"

def ask(output):
    if sys.argv[1] == "kill" and os.path.exists("asked-" + output.name):
        os.kill(os.getpid(), 9)
    open("asked-" + output.name, "w").close()
    print("asked:", output.name, flush=True)
    return "more"

by = Agent(role="Diver", goal="g", backstory="b", llm=ScriptedLLM(reply))
tasks = [Task(name=name, description=name, expected_output="x", agent=by) for name in ("dive", "rise")]
crew = Crew(agents=[by], tasks=tasks)
crew.train(2, "x.json", feedback=None if sys.argv[1] == "terminal" else ask)
"""


def python(*args: str, **more: Any) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *processes.STRICT, *args]
    return processes.run(command, env=env, capture_output=True, text=True, check=False, timeout=250, **more)


def test_a_training_that_is_killed_asks_nobody_and_no_model_again(folder: Path):
    Path("team.py").write_text(_PROGRAM)
    killed = python("team.py", "kill")
    assert killed.returncode == -9
    # The second round was asked about its first task.
    assert killed.stdout.split("\n")[:-1] == [
        *("model: work", "asked: dive", "model: better", "model: work", "asked: rise", "model: better"),
        "model: work",
    ]
    gone_on = python("team.py", "live")
    assert gone_on.stderr == ""
    assert gone_on.stdout.split("\n")[:-1] == [
        *("asked: dive", "model: better", "model: work", "asked: rise", "model: better"),
        "model: lessons",
    ]
    assert held("x.json")["agents"]["Diver"]["suggestions"] == ["4 things"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_somebody_at_a_terminal_is_shown_each_answer_and_asked(folder: Path):
    Path("team.py").write_text(_PROGRAM)
    ours, theirs = os.openpty()
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *processes.STRICT, "team.py", "terminal"]
    with processes.Popen(command, stdin=theirs, stdout=subprocess.PIPE, text=True, env=env) as process:
        os.write(ours, b"deeper\n\nslower\n\n")
        printed = process.communicate(timeout=250)[0]
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 0
    assert printed.count("[dive] Diver\n") == 2 and printed.count("[rise] Diver\n") == 2
    assert "What should change? Press Enter to accept it as it is." in printed
    assert [one[3] for one in said_in("x.json")] == ["deeper", "", "slower", ""]
