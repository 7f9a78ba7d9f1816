"""The index of runs: crews and flows in any checkpointer, listed and resumed in any process."""

import asyncio
import os
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent import futures
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import processes
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import interrupt
from modes import Mode

from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.errors import ModelError
from crewgraph.flow import Flow, listen, persist, start
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool

from .parts import kickoff, resume

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(params=["ours", "theirs"])
def saver(request: pytest.FixtureRequest, mode: Mode, tmp_path: Path) -> Iterator[Any]:
    """Our own checkpointer, or one of LangGraph's."""
    if request.param == "ours":
        with SqliteCheckpointer(tmp_path / "runs.db") as ours:
            yield ours
    elif mode.asynchronous:
        yield InMemorySaver()
    else:
        connection = sqlite3.connect(tmp_path / "theirs.db", check_same_thread=False)
        yield SqliteSaver(connection)
        connection.close()


def crew(*answers: Any, name: str | None = None, tasks: tuple[str, ...] = ("one", "two"), **more: Any) -> Crew:
    worker = Agent(role="r", goal="g", backstory="b", llm=ScriptedLLM([*answers]), max_retry_limit=0, **more)
    name_field: dict[str, Any] = {} if name is None else {"name": name}
    team = [Task(name=task, description=f"do {task}", expected_output="a word", agent=worker) for task in tasks]
    return Crew(agents=[worker], tasks=team, **name_field)


class Voyage(Flow[dict[str, Any]]):
    @start()
    def leave(self) -> str:
        return "port"

    @listen(leave)
    def sail(self) -> str:
        if self.state.get("storm"):
            raise OSError("waves")
        return self.ask("Where to?") if self.state.get("lost") else "sea"

    @listen(sail)
    def arrive(self, where: str) -> str:
        return where


class Other(Flow[dict[str, Any]]):
    name = "elsewhere"

    @start()
    def only(self) -> str:
        return "done"


def listed(mode: Mode, definition: Any, **options: Any) -> list[Any]:
    return mode.run(lambda: definition.runs(**options), lambda: definition.aruns(**options))


def test_runs_of_a_flow_are_listed_with_how_far_they_are(mode: Mode, saver: Any):
    started = datetime.now(UTC)
    done, stormy, lost = (Voyage(checkpointer=saver) for _ in range(3))
    assert kickoff(mode, done) == "sea"
    with pytest.raises(OSError, match="waves"):
        kickoff(mode, stormy, {"storm": True})
    waiting = kickoff(mode, lost, {"lost": True})
    kickoff(mode, Other(checkpointer=saver))
    runs = listed(mode, Voyage(checkpointer=saver))
    assert [(run.flow_id, run.kind, run.name, run.status, run.last) for run in runs] == [
        (lost.flow_id, "flow", "Voyage", "waiting", "leave"),
        (stormy.flow_id, "flow", "Voyage", "failed", "leave"),
        (done.flow_id, "flow", "Voyage", "done", "arrive"),
    ]
    assert [run.questions for run in runs] == [waiting.questions, (), ()]
    assert [run.created_at is not None and started <= run.created_at <= run.updated_at for run in runs] == [True] * 3
    assert listed(mode, Voyage(checkpointer=saver), limit=2) == runs[:2]
    assert listed(mode, Voyage(checkpointer=saver), status="open") == runs[1:2]
    assert [run.name for run in listed(mode, Other(checkpointer=saver))] == ["elsewhere"]
    assert resume(mode, Voyage(checkpointer=saver), lost.flow_id, "home") == "home"
    assert [run.status for run in listed(mode, Voyage(checkpointer=saver))] == ["done", "failed", "done"]
    assert mode.run(done.pending, done.apending) == []


def test_runs_of_a_crew_are_listed_with_how_far_they_are(mode: Mode, saver: Any):
    team = crew("a", "b", "c", ConnectionError("down"), name="desk")
    mode.kickoff(team, thread_id="done", checkpointer=saver)
    with pytest.raises(ConnectionError):
        mode.kickoff(team, thread_id="half", checkpointer=saver)
    mode.kickoff(crew("a", "b", name="another"), checkpointer=saver)
    again = crew("d", name="desk")
    runs = listed(mode, again, checkpointer=saver)
    assert [(run.thread_id, run.kind, run.name, run.status, run.last) for run in runs] == [
        ("half", "crew", "desk", "failed", "one"),
        ("done", "crew", "desk", "done", "two"),
    ]
    assert mode.resume(again, "half", checkpointer=saver).raw == "d"
    assert [run.status for run in listed(mode, again, checkpointer=saver)] == ["done", "done"]
    with pytest.raises(ModelError, match="script"):  # another run in a thread that holds one that is done
        mode.kickoff(crew(name="desk"), thread_id="done", checkpointer=saver)
    (opened,) = listed(mode, again, checkpointer=saver, status="open")
    assert (opened.thread_id, opened.last) == ("done", None)


def test_a_crew_without_a_name_is_known_by_its_tasks(mode: Mode, saver: Any):
    mode.kickoff(crew("a", "b"), thread_id="mine", checkpointer=saver)
    mode.kickoff(crew("a", tasks=("other",)), thread_id="other", checkpointer=saver)
    mode.kickoff(crew("a", "b", name="desk"), thread_id="named", checkpointer=saver)
    changed = crew()
    changed.tasks[0].description = "do it otherwise"
    assert [run.thread_id for run in listed(mode, changed, checkpointer=saver)] == ["mine"]


def test_crew_with_an_interrupting_tool_is_pending(mode: Mode, saver: Any):
    @tool
    def person(question: str) -> str:
        """Ask a person."""
        return str(interrupt(question))

    team = crew(ToolUse("person", {"question": "Which?"}), "a", "b", name="asking", tools=[person])
    mode.kickoff(team, thread_id="t", checkpointer=saver)
    (waits,) = listed(mode, team, checkpointer=saver)
    assert (waits.status, [question.text for question in waits.questions]) == ("waiting", ["Which?"])


class Deep(Flow[dict[str, Any]]):
    @start()
    def dive(self) -> str:
        return crew("a", "b", name="divers").kickoff().raw

    @listen(dive)
    def look(self) -> str:
        return str(Other().kickoff())


def test_nested_runs_are_listed_on_request(mode: Mode, saver: Any):
    flow = Deep(checkpointer=saver)
    kickoff(mode, flow)
    divers, other = crew(name="divers"), Other(checkpointer=saver)
    assert listed(mode, divers, checkpointer=saver) == listed(mode, other) == []
    (inside,) = listed(mode, divers, checkpointer=saver, inside=True)
    assert (inside.kind, inside.status, inside.inside) == ("crew", "done", flow.flow_id)
    assert [run.inside for run in listed(mode, other, inside=True)] == [flow.flow_id]
    assert [(run.flow_id, run.inside) for run in listed(mode, Deep(checkpointer=saver), inside=True)] == [
        (flow.flow_id, None)
    ]


def test_a_flow_inside_a_tool_of_a_crew_is_no_run_of_the_crew(mode: Mode, saver: Any):
    @tool
    def elsewhere(what: str) -> str:
        """Look elsewhere."""
        return str(Other(checkpointer=saver).kickoff())

    team = crew(ToolUse("elsewhere", {"what": "x"}), "a", "b", name="looking", tools=[elsewhere])
    mode.kickoff(team, thread_id="t", checkpointer=saver)
    assert [run.thread_id for run in listed(mode, team, checkpointer=saver)] == ["t"]
    assert [run.kind for run in listed(mode, Other(checkpointer=saver))] == ["flow"]


def test_without_a_checkpointer_there_are_no_runs(mode: Mode):
    voyage = Voyage(checkpointer=False)
    kickoff(mode, voyage)
    assert listed(mode, voyage) == [] == listed(mode, crew(), checkpointer=False)


@persist
class Draft(Flow[dict[str, Any]]):
    @start()
    def write(self) -> str:
        return self.ask("A title?")


def test_runs_can_be_listed_from_the_class(mode: Mode):
    assert listed(mode, Draft) == []
    waiting = kickoff(mode, Draft())
    assert mode.run(Draft.pending, Draft.apending) == [waiting]
    assert [run.flow_id for run in listed(mode, Draft)] == [waiting.flow_id]
    assert mode.run(Draft().pending, Draft().apending) == [waiting]


def test_async_only_saver_is_called_on_the_event_loop(tmp_path: Path):
    async def played() -> list[str]:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "theirs.db")) as saver:
            flow = Voyage(checkpointer=saver)
            await flow.akickoff()
            await crew("a", "b", name="desk").akickoff(checkpointer=saver)
            crews = await crew(name="desk").aruns(checkpointer=saver)
            return [run.status for run in (*await flow.aruns(), *crews)]

    assert asyncio.run(played()) == ["done", "done"]


def test_a_thousand_runs_are_listed_without_their_past(tmp_path: Path):
    with SqliteCheckpointer(tmp_path / "runs.db", synchronous="OFF") as saver:
        lost, done = Voyage(checkpointer=saver), Voyage(checkpointer=saver)
        lost.kickoff(lost=True)
        done.kickoff()
        for n in range(998):
            saver.copy_thread((done if n % 10 else lost).flow_id, f"run {n}")
        assert Counter(run.status for run in done.runs()) == {"waiting": 101, "done": 899}
        assert len(done.pending()) == 101
        assert len(done.runs(limit=7)) == 7


def elsewhere(folder: Path, program: str) -> str:
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    own = {"LEDGER": str(folder / "ledger"), "CREWGRAPH_STORAGE_DIR": str(folder)}
    env = {**os.environ, "PYTHONPATH": path, **own}
    ran = processes.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=250, env=env
    )
    return ran.stdout.strip() if ran.returncode in (0, -9) else ran.stderr


KILLED = (
    "import sys; sys.argv = ['', {mode!r}, 'journey', {point!r}]\n"
    "from flow.killed import Course, main\nmain(Course)\nprint('no')"
)
TOLD = (
    "import sys; sys.argv = ['', '', '', '']\nfrom flow.killed import Course, crew\n"
    "print([(run.flow_id, run.status, run.last) for run in Course.runs()], "
    "[(run.status, run.last) for run in crew('wind', 'wave', 'gull').runs(inside=True)])\n"
    "for run in Course.runs(status='open'): print(Course().resume(run.flow_id))\n"
    "print([run.status for run in Course.runs()], crew('wind', 'wave', 'gull').runs())"
)


@pytest.mark.parametrize("how", ["sync", "async"])
def test_killed_run_is_open_and_resumed_by_another_process(tmp_path: Path, how: str):
    assert elsewhere(tmp_path, KILLED.format(mode=how, point="model gull")) == ""
    assert elsewhere(tmp_path, TOLD).splitlines() == [
        "[('journey', 'abandoned', 'swim')] [('abandoned', 'wave')]",
        "anchor! ['port', 'coast'] True",
        "['done'] []",
    ]


@pytest.mark.parametrize("failure", [futures.CancelledError, StopAsyncIteration, GeneratorExit, TimeoutError])
@pytest.mark.parametrize("parallel", [False, True], ids=["alone", "parallel"])
def test_whatever_a_method_raises_is_its_failure_and_the_run_can_be_resumed(
    mode: Mode, failure: type[BaseException], parallel: bool
):
    fails = [True]

    @persist
    class Voyage(Flow[dict[str, Any]]):
        @start()
        def sail(self) -> str:
            return "out"

        @listen(sail)
        def land(self) -> str:
            if fails:
                fails.pop()
                raise failure
            return "landed"

        @listen(sail if parallel else land)
        def look(self) -> str:
            return "seen"

    voyage = Voyage()
    with pytest.raises((failure, RuntimeError)) as failed:
        kickoff(mode, voyage)
    assert "in method `land` of flow `Voyage`" in failed.value.__notes__
    assert failed.errisinstance(failure) or str(failed.value) == f"{failure.__name__} was raised"
    assert resume(mode, Voyage(), voyage.flow_id) in ("landed", "seen") and not fails
