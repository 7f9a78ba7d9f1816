"""Backends for states: a SQLite file and users' own; saves that fail; flows of which only some methods are persisted."""

import copy
import datetime as dates
import os
import sqlite3
import stat
import sys
import threading
from pathlib import Path
from typing import Any

import processes
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode
from pydantic import BaseModel, Field, PrivateAttr, ValidationError

from crewgraph.errors import DefinitionError, RunError, StorageError
from crewgraph.flow import Flow, HumanFeedbackPending, PendingFlow, human_feedback, listen, persist, start
from crewgraph.flow.persistence import FlowPersistence, PendingFeedbackContext, SQLiteFlowPersistence
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.testing import record_events

from .parts import kickoff, resume

ROOT = Path(__file__).parent.parent.parent


done: list[str] = []
broken: list[str] = []


@pytest.fixture(autouse=True)
def clear_calls() -> None:
    done.clear()
    broken.clear()


class Fish(BaseModel):
    name: str = "cod"
    when: dates.date | None = None


class Catch(BaseModel):
    n: int = 0
    fish: list[Fish] = []


class Fishing(Flow[Catch]):
    @start()
    def cast(self) -> int:
        done.append("cast")
        self.state.n += 1
        self.state.fish.append(Fish(when=dates.date(2024, 1, 2)))
        return self.state.n

    @listen(cast)
    def sell(self) -> int:
        done.append("sell")
        if broken:
            raise ConnectionError("market")
        return self.state.n


# A SQLite file


def test_a_file_holds_the_last_state_of_each_run(mode: Mode, tmp_path: Path):
    shelf = SQLiteFlowPersistence(str(tmp_path / "deep" / "states.db"))
    flow = Fishing(persistence=shelf, checkpointer=False)
    assert kickoff(mode, flow) == 1
    assert shelf.load_state(flow.flow_id) == {
        "id": flow.flow_id,
        "n": 1,
        "fish": [{"name": "cod", "when": "2024-01-02"}],
    }
    assert shelf.load_state("nobody") is None
    assert repr(shelf) == f"SQLiteFlowPersistence({str(tmp_path / 'deep' / 'states.db')!r})"
    again = Fishing(persistence=SQLiteFlowPersistence(tmp_path / "deep" / "states.db"), checkpointer=False)
    assert kickoff(mode, again, {"id": flow.flow_id}) == 2
    assert again.state.fish == [Fish(when=dates.date(2024, 1, 2))] * 2
    assert (again.flow_id, len(done)) == (flow.flow_id, 4)


def test_the_file_is_its_owners_and_stands_in_the_storage_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CREWGRAPH_STORAGE_DIR", str(tmp_path / "kept"))
    shelf = SQLiteFlowPersistence()
    assert shelf.db_path == str(tmp_path / "kept" / "flow_states.db")
    shelf.save_state("run", "method", {"a": 1})
    assert stat.S_IMODE(os.stat(shelf.db_path).st_mode) == 0o600
    with sqlite3.connect(shelf.db_path) as connection:
        assert connection.execute("SELECT flow_uuid, method_name, state_json FROM flow_states").fetchall() == [
            ("run", "method", '{"a": 1}')
        ]
    connection.close()


def test_threads_share_a_file(tmp_path: Path):
    shelf = SQLiteFlowPersistence(tmp_path / "states.db")

    def save(n: int) -> None:
        for i in range(20):
            shelf.save_state(f"run{n}", "m", {"n": i})

    threads = [threading.Thread(target=save, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [shelf.load_state(f"run{n}") for n in range(8)] == [{"n": 19}] * 8


def test_what_is_no_state_is_not_saved(tmp_path: Path):
    shelf: Any = SQLiteFlowPersistence(tmp_path / "states.db")
    with pytest.raises(DefinitionError, match="a state is a pydantic model or a dict, not 5"):
        shelf.save_state("run", "method", 5)
    assert shelf.load_state("run") is None


def test_a_file_that_cannot_be_is_reported(tmp_path: Path):
    (tmp_path / "file").write_text("text")
    with pytest.raises(StorageError, match="file/states.db cannot be created"):
        SQLiteFlowPersistence(tmp_path / "file" / "states.db")
    with pytest.raises(StorageError, match="file cannot be used for states of flows: file is not a database"):
        SQLiteFlowPersistence(tmp_path / "file")
    with pytest.raises(DefinitionError, match="is lost with each connection"):
        SQLiteFlowPersistence(":memory:")


def test_a_question_waits_in_the_file_until_it_is_answered(mode: Mode, tmp_path: Path, saver: SqliteCheckpointer):
    shelf = SQLiteFlowPersistence(tmp_path / "states.db")

    @persist(shelf)
    class Draft(Flow[dict[str, Any]]):
        @start()
        @human_feedback("Good?", emit=["yes", "no"], metadata={"who": "anna"})
        def write(self) -> str:
            self.state["words"] = 2
            return "a draft"

    waiting = kickoff(mode, Draft(checkpointer=saver))
    assert isinstance(waiting, PendingFlow)
    found = shelf.load_pending_feedback(waiting.flow_id)
    assert found is not None
    state, context = found
    assert state == {"id": waiting.flow_id, "words": 2} == shelf.load_state(waiting.flow_id)
    assert (context.method_name, context.method_output, context.message) == ("write", "a draft", "Good?")
    assert (context.emit, context.metadata, context.flow_class.endswith("Draft")) == (
        ["yes", "no"],
        {"who": "anna"},
        True,
    )
    assert PendingFeedbackContext.from_dict(context.to_dict()) == context
    resume(mode, Draft(checkpointer=saver), waiting.flow_id, "yes")
    assert shelf.load_pending_feedback(waiting.flow_id) is None


# Backends of users' own


class Shelf(FlowPersistence):
    """As users write them."""

    def __init__(self) -> None:
        self.saves: list[tuple[str, Any]] = []
        self.states: dict[str, dict[str, Any]] = {}

    def init_db(self) -> None:
        return None

    def save_state(self, flow_uuid: str, method_name: str, state_data: dict[str, Any] | BaseModel) -> None:
        if broken:
            raise OSError("disk full")
        self.saves.append((method_name, state_data))
        self.states[flow_uuid] = state_data.model_dump() if isinstance(state_data, BaseModel) else state_data

    def load_state(self, flow_uuid: str) -> dict[str, Any] | None:
        return self.states.get(flow_uuid)


def test_a_backend_is_given_the_model_or_a_dict(mode: Mode):
    shelf = Shelf()
    flow = Fishing(persistence=shelf, checkpointer=False)
    kickoff(mode, flow)
    assert [method for method, _ in shelf.saves] == ["cast", "sell"]
    assert shelf.saves[0][1] is flow.state

    class Loose(Flow[dict[str, Any]]):
        @start()
        def put(self) -> None:
            self.state["n"] = 1

    other = Loose(persistence=shelf, checkpointer=False)
    kickoff(mode, other)
    assert type(shelf.saves[-1][1]) is dict and shelf.saves[-1][1] == {"id": other.flow_id, "n": 1}


def test_a_backend_alone_gives_a_run_its_state(mode: Mode, saver: SqliteCheckpointer):
    shelf = Shelf()
    shelf.states["old"] = {"id": "old", "n": 5, "fish": [{"name": "eel"}]}
    for checkpointer in (False, saver):
        flow = Fishing(persistence=shelf, checkpointer=checkpointer)
        assert kickoff(mode, flow, {"id": "old"}) == (6 if checkpointer is False else 7)
        assert flow.state.fish[0] == Fish(name="eel")
    with pytest.warns(UserWarning, match="no run of flow `Fishing` is stored under `new`"):
        kickoff(mode, Fishing(persistence=shelf, checkpointer=False), {"id": "new"})
    loaded = Fishing(persistence=shelf, checkpointer=False)
    assert loaded._load_state("old")  # pyright: ignore[reportPrivateUsage] - as the specification prints
    assert (loaded.state.n, kickoff(mode, loaded)) == (7, 8)
    assert not loaded._load_state("nobody")  # pyright: ignore[reportPrivateUsage]


def test_a_run_that_is_done_begins_anew_with_a_state_that_another_program_has_changed(
    mode: Mode, saver: SqliteCheckpointer, tmp_path: Path
):
    states = SQLiteFlowPersistence(tmp_path / "states.db")

    @persist(states)
    class OfClass(Fishing): ...

    for make in (lambda: OfClass(checkpointer=saver), lambda: Fishing(persistence=states, checkpointer=saver)):
        flow = make()
        assert kickoff(mode, flow) == 1
        states.save_state(flow.flow_id, "edit", {"id": flow.flow_id, "n": 500, "fish": []})
        assert kickoff(mode, make(), {"id": flow.flow_id}) == 501


def test_a_state_that_nobody_has_changed_keeps_what_its_backend_cannot_store(
    mode: Mode, saver: SqliteCheckpointer, tmp_path: Path
):
    @persist(SQLiteFlowPersistence(tmp_path / "states.db"))
    class Dated(Flow[dict[str, Any]]):
        @start()
        def note(self) -> Any:
            days: list[dates.date] = self.state.setdefault("days", [])
            days.append(dates.date(2024, 1, 2))
            return list(days)

    flow = Dated(checkpointer=saver)
    kickoff(mode, flow)
    assert kickoff(mode, Dated(checkpointer=saver), {"id": flow.flow_id}) == [dates.date(2024, 1, 2)] * 2


def test_what_cannot_save_is_no_backend():
    with pytest.raises(DefinitionError, match="`persistence` is 'states.db'; pass a `FlowPersistence`"):
        Fishing(persistence="states.db")


def test_a_save_that_fails_stops_the_flow_and_loses_no_method(mode: Mode, saver: SqliteCheckpointer):
    shelf = Shelf()
    broken.append("disk")
    flow = Fishing(persistence=shelf, checkpointer=saver)
    reported = "state of flow `Fishing` could not be saved after method `cast` by backend `Shelf`: OSError: disk full"
    with pytest.raises(RuntimeError, match=reported) as caught:
        kickoff(mode, flow)
    assert isinstance(caught.value, StorageError) and isinstance(caught.value.__cause__, OSError)
    with pytest.raises(RuntimeError, match=reported):
        resume(mode, Fishing(persistence=shelf, checkpointer=saver), flow.flow_id)
    assert [step.completed for step in flow.history()] == [None, "cast"]
    assert [run.status for run in flow.runs()] == ["failed"]
    broken.clear()
    assert resume(mode, Fishing(persistence=shelf, checkpointer=saver), flow.flow_id) == 1
    assert done == ["cast", "sell"]
    assert [method for method, _ in shelf.saves] == ["cast", "sell"]


def test_a_save_that_fails_after_the_last_method_is_made_up_for(mode: Mode, saver: SqliteCheckpointer):
    class Short(Flow[Catch]):
        @start()
        def count(self) -> int:
            done.append("count")
            self.state.n += 1
            return self.state.n

    shelf = Shelf()
    broken.append("disk")
    flow = Short(persistence=shelf, checkpointer=saver)
    with pytest.raises(RuntimeError, match="disk full"):
        kickoff(mode, flow)
    broken.clear()
    again = Short(persistence=shelf, checkpointer=saver)
    assert [run.status for run in again.runs()] == ["failed"]
    assert kickoff(mode, again, {"id": flow.flow_id}) == 1
    assert (done, shelf.states[flow.flow_id]["n"]) == (["count"], 1)
    assert kickoff(mode, Short(persistence=shelf, checkpointer=saver), {"id": flow.flow_id}) == 2


def test_a_save_that_fails_is_told_where_nothing_is_kept(mode: Mode):
    broken.append("disk")
    with pytest.raises(RuntimeError, match="after method `cast` by backend `Shelf`"):
        kickoff(mode, Fishing(persistence=Shelf(), checkpointer=False))
    assert done == ["cast"]


def test_a_save_that_fails_waits_for_methods_alongside(mode: Mode, saver: SqliteCheckpointer):
    class Two(Flow[Catch]):
        @start()
        def one(self) -> None:
            done.append("one")

        @start()
        async def other(self) -> None:
            done.append("other")

        @listen(one)
        def after(self) -> None:
            done.append("after")

    shelf = Shelf()
    broken.append("disk")
    flow = Two(persistence=shelf, checkpointer=saver)
    with pytest.raises(RuntimeError, match="disk full"):
        kickoff(mode, flow)
    broken.clear()
    resume(mode, Two(persistence=shelf, checkpointer=saver), flow.flow_id)
    assert done.count("after") == 1 and {method for method, _ in shelf.saves} >= {"after"}
    completed = [step.completed for step in flow.history()]
    assert {"one", "other", "after"} >= set(completed[1:]) and len(completed) >= 2


# Only some methods are persisted


class Steps(Flow[dict[str, Any]]):
    @start()
    def first(self, word: str = "none") -> str:
        self.mark("first")
        self.state["word"] = word
        return "first"

    @persist
    @listen(first)
    def second(self) -> str:
        self.mark("second")
        return "second"

    @listen(second)
    def third(self) -> str:
        self.mark("third")
        self.state["third"] = True
        return "third"

    @listen(third)
    def fourth(self) -> list[str]:
        if broken:
            raise ConnectionError("fourth")
        self.mark("fourth")
        return self.state["seen"]

    def mark(self, name: str) -> None:
        done.append(name)
        self.state["seen"] = [*self.state.get("seen", []), name]


def test_a_run_continues_from_the_last_method_that_is_persisted(mode: Mode, saver: SqliteCheckpointer):
    broken.append("fourth")
    flow = Steps(checkpointer=saver)
    with pytest.raises(ConnectionError):
        kickoff(mode, flow, {"word": "tide"})
    broken.clear()
    other = Steps(checkpointer=saver)
    assert kickoff(mode, other, {"id": flow.flow_id}) == ["first", "second", "third", "fourth"]
    assert done == ["first", "second", "third", "third", "fourth"]
    assert (other.state["word"], other.state["third"]) == ("tide", True)


def test_a_run_with_nothing_persisted_yet_continues_from_its_beginning(mode: Mode, saver: SqliteCheckpointer):
    class Late(Flow[dict[str, Any]]):
        @start()
        def first(self, word: str) -> None:
            self.state["n"] = self.state.get("n", 0) + 1
            self.state["word"] = word

        @listen(first)
        def fail(self) -> None:
            if broken:
                raise ConnectionError("fail")

        @persist
        @listen(fail)
        def last(self) -> Any:
            return [self.state["n"], self.state["word"]]

    broken.append("fail")
    flow = Late(checkpointer=saver)
    with pytest.raises(ConnectionError):
        kickoff(mode, flow, {"word": "tide"})
    broken.clear()
    assert kickoff(mode, Late(checkpointer=saver), {"id": flow.flow_id}) == [1, "tide"]


def test_a_run_that_is_done_begins_anew_with_what_was_persisted(mode: Mode, saver: SqliteCheckpointer):
    flow = Steps(checkpointer=saver)
    kickoff(mode, flow)
    assert flow.state["third"] is True
    loaded = Steps(checkpointer=saver)
    assert loaded._load_state(flow.flow_id)  # pyright: ignore[reportPrivateUsage]
    assert loaded.state["seen"] == ["first", "second"]
    other = Steps(checkpointer=saver)
    assert kickoff(mode, other, {"id": flow.flow_id}) == ["first", "second", "first", "second", "third", "fourth"]


def test_the_backend_of_a_flow_object_is_given_the_state_of_the_persisted_methods(
    mode: Mode, saver: SqliteCheckpointer, tmp_path: Path
):
    shelf = Shelf()
    flow = Steps(persistence=shelf, checkpointer=False)
    kickoff(mode, flow)
    assert [(name, state["seen"]) for name, state in shelf.saves] == [("second", ["first", "second"])]
    again = Steps(persistence=shelf, checkpointer=False)
    assert kickoff(mode, again, {"id": flow.flow_id}) == ["first", "second", "first", "second", "third", "fourth"]
    broken.append("fourth")
    states = SQLiteFlowPersistence(tmp_path / "states.db")
    stored = Steps(persistence=states, checkpointer=saver)
    with pytest.raises(ConnectionError):
        kickoff(mode, stored)
    done.clear()
    broken.clear()
    kickoff(mode, Steps(persistence=states, checkpointer=saver), {"id": stored.flow_id})
    assert done == ["third", "fourth"]


def test_what_methods_take_away_comes_back_with_the_state_as_it_was(mode: Mode, saver: SqliteCheckpointer):
    class Taking(Flow[dict[str, Any]]):
        @persist
        @start()
        def put(self) -> None:
            self.state["kept"] = 1

        @listen(put)
        def take(self) -> None:
            del self.state["kept"]
            self.state["more"] = 2

        @listen(take)
        def end(self) -> Any:
            if broken:
                raise ConnectionError("end")
            return dict(self.state)

    broken.append("end")
    flow = Taking(checkpointer=saver)
    with pytest.raises(ConnectionError):
        kickoff(mode, flow)
    assert sorted(flow.history()[-1].state) == ["id", "more"]
    other = Taking(checkpointer=saver)
    with pytest.raises(ConnectionError):
        kickoff(mode, other, {"id": flow.flow_id})
    assert [(step.completed, sorted(step.state)) for step in other.history(flow.flow_id)][-2:] == [
        ("put", ["id", "kept"]),
        ("take", ["id", "more"]),
    ]


def test_a_backend_of_a_method_is_given_that_state_alone(mode: Mode, saver: SqliteCheckpointer):
    shelf = Shelf()

    class Chosen(Flow[dict[str, Any]]):
        @start()
        def first(self) -> None:
            self.state["n"] = self.state.get("n", 0) + 1

        @persist(shelf)
        @listen(first)
        def second(self) -> None:
            return None

        @listen(second)
        def third(self) -> int:
            self.state["n"] += 100
            return self.state["n"]

    flow = Chosen(checkpointer=False)
    assert kickoff(mode, flow) == 101
    assert shelf.states[flow.flow_id]["n"] == 1
    assert kickoff(mode, Chosen(checkpointer=False), {"id": flow.flow_id}) == 102


# Killed beside another


@pytest.mark.parametrize("run", ["sync", "async"])
def test_what_a_killed_method_has_counted_is_not_counted_twice(tmp_path: Path, run: str):
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    env = {**os.environ, "PYTHONPATH": path, "CREWGRAPH_STORAGE_DIR": str(tmp_path)}
    command = [sys.executable, "-W", "ignore", "-m", "flow.killed_parallel", run, "counting"]
    killed = processes.run([*command, "die"], capture_output=True, text=True, timeout=250, env=env)
    assert killed.returncode == -9, killed.stderr
    ran = processes.run(command, capture_output=True, text=True, timeout=250, env=env)
    assert (ran.returncode, ran.stdout.strip()) == (0, "[1, 1]"), ran.stderr


# Backends as programs write them


class Rack(FlowPersistence):
    """Keeps states of all its instances by their name."""

    label: str = "rack"
    limit: int = Field(default=10, gt=0)
    saved = list[tuple[str, str]]()  # a class attribute without an annotation
    _opened: list[str] = PrivateAttr(default_factory=list[str])

    def init_db(self) -> None:
        self._opened.append(self.label)

    def save_state(self, flow_uuid: str, method_name: str, state_data: Any) -> None:
        self.saved.append((self.label, method_name))

    def load_state(self, flow_uuid: str) -> dict[str, Any] | None:
        return None


class OwnRack(Rack):
    """Has a constructor of its own, which does not call that of its base."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._cache = {"path": path}
        self.label = f"own {path}"


def test_a_backend_with_fields_is_made_with_them():
    rack = Rack(label="a", limit=3)
    rack.init_db()
    assert (rack.label, rack.limit, rack.persistence_type) == ("a", 3, "Rack")
    with pytest.raises(ValidationError, match="limit"):
        Rack(limit=0)
    with pytest.raises(TypeError, match="abstract"):
        FlowPersistence()  # type: ignore[abstract]


def test_a_backend_with_a_constructor_of_its_own_sets_what_it_likes():
    rack = OwnRack("p")
    rack.init_db()
    assert (rack.path, vars(rack)["_cache"], rack.label, rack.limit) == ("p", {"path": "p"}, "own p", 10)
    assert copy.deepcopy(rack).path == "p"


@pytest.mark.parametrize("rack", [Rack(label="class"), OwnRack("class")])
def test_a_methods_backend_replaces_that_of_its_class(mode: Mode, rack: Rack):
    Rack.saved.clear()

    @persist(rack)
    class Two(Flow[dict[str, Any]]):
        @start()
        def one(self) -> None: ...

        @listen(one)
        @persist(Rack(label="method"))
        def two(self) -> None: ...

        @listen(two)
        @persist
        def three(self) -> None: ...

    kickoff(mode, Two(checkpointer=False))
    assert Rack.saved == [(rack.label, "one"), ("method", "two"), (rack.label, "three")]
    Rack.saved.clear()
    kickoff(mode, Two(checkpointer=False, persistence=Rack(label="object")))
    assert Rack.saved == [("object", "one"), ("object", "two"), ("object", "three")]


# A run that waits, restored from nothing but its backend


class Reviewing(Flow[Catch]):
    @start()
    def catch(self) -> str:
        done.append("catch")
        self.state.n = 4
        return "a cod"

    @listen(catch)
    @human_feedback(message="Sell it?", emit=["sold", "kept"], default_outcome="kept")
    def review(self, fish: str) -> str:
        done.append("review")
        return f"{fish}, fresh"

    @listen("sold")
    def sell(self, given: Any) -> Any:
        return given.output, given.feedback, self.state.n


def test_a_waiting_run_is_restored_from_its_backend_alone(mode: Mode, tmp_path: Path):
    shelf = SQLiteFlowPersistence(tmp_path / "states.db")
    with SqliteCheckpointer(tmp_path / "here.db") as saver:
        assert isinstance(kickoff(mode, flow := Reviewing(persistence=shelf, checkpointer=saver)), PendingFlow)
    assert done == ["catch", "review"]
    with SqliteCheckpointer(tmp_path / "elsewhere.db") as saver, record_events() as events:
        moved = Reviewing.from_pending(flow.flow_id, SQLiteFlowPersistence(tmp_path / "states.db"), checkpointer=saver)
        assert moved.pending_feedback is not None and moved.pending_feedback.message == "Sell it?"
        assert (moved.state.n, [event.type for event in events]) == (4, ["flow_created"])
        assert mode.run(moved.resume, moved.aresume, "sold") == ("a cod, fresh", "sold", 4)
    assert done == ["catch", "review"]
    assert shelf.load_pending_feedback(flow.flow_id) is None
    with SqliteCheckpointer(tmp_path / "here.db") as saver, pytest.raises(DefinitionError, match="waits for an answer"):
        Reviewing.from_pending(flow.flow_id, shelf, checkpointer=saver)  # it has been answered elsewhere


def test_of_two_containers_that_restore_a_waiting_run_one_answers(mode: Mode, tmp_path: Path):
    """Each has the backend's file and checkpoints of its own."""
    shelf = SQLiteFlowPersistence(tmp_path / "states.db")
    with SqliteCheckpointer(tmp_path / "here.db") as saver:
        kickoff(mode, flow := Reviewing(persistence=shelf, checkpointer=saver))
    with SqliteCheckpointer(tmp_path / "one.db") as one, SqliteCheckpointer(tmp_path / "two.db") as two:
        first = Reviewing.from_pending(flow.flow_id, shelf, checkpointer=one)
        second = Reviewing.from_pending(flow.flow_id, shelf, checkpointer=two)
        assert mode.run(first.resume, first.aresume, "sold") == ("a cod, fresh", "sold", 4)
        with pytest.raises(RunError, match="has been answered elsewhere, where the run continues"):
            mode.run(second.resume, second.aresume, "kept")
    with SqliteCheckpointer(tmp_path / "here.db") as saver:  # where it was asked
        again = Reviewing(persistence=shelf, checkpointer=saver)
        with pytest.raises(RunError, match="has been answered elsewhere"):
            mode.run(again.resume, again.aresume, flow.flow_id, "kept")


def test_who_has_taken_a_question_may_take_it_again_after_a_crash(tmp_path: Path):
    shelf = SQLiteFlowPersistence(tmp_path / "states.db")
    context = PendingFeedbackContext("f", "F", method_name="m", method_output="o", message="Good?")
    shelf.save_pending_feedback("f", context, {})
    assert [shelf.take_pending_feedback("f", taker) for taker in ("one", "one", "two")] == [True, True, False]
    shelf.save_pending_feedback("f", context, {})
    assert shelf.take_pending_feedback("f", "two")
    assert shelf.take_pending_feedback("g", "one")  # a question that was never saved


def test_a_provider_is_not_asked_again_when_its_run_is_restored(mode: Mode, tmp_path: Path):
    class Office:
        asked: list[str] = []

        def request_feedback(self, context: Any, flow: Any) -> str:
            self.asked.append(context.message)
            raise HumanFeedbackPending(context=context)

    office = Office()

    class Asking(Flow[Catch]):
        @start()
        @human_feedback(message="Good?", provider=office)
        def write(self) -> str:
            return "a draft"

        @listen(write)
        def end(self, given: Any) -> str:
            return given.feedback

    shelf = SQLiteFlowPersistence(tmp_path / "states.db")
    kickoff(mode, flow := Asking(persistence=shelf, checkpointer=InMemorySaver()))
    moved = Asking.from_pending(flow.flow_id, shelf, checkpointer=InMemorySaver())
    assert mode.run(moved.resume, moved.aresume, "fine") == "fine"
    assert office.asked == ["Good?"]


class Counting(Flow[dict[str, Any]]):
    @start()
    def count(self) -> int:
        self.state["n"] = self.state.get("n", 0) + 1
        if self.state["n"] == self.state.get("failing"):
            raise ConnectionError
        return self.state["n"]


def counting(file: Path) -> Counting:
    return Counting(persistence=SQLiteFlowPersistence(file))


@pytest.mark.filterwarnings("ignore:no run of flow")
def test_files_of_states_do_not_mix(mode: Mode, tmp_path: Path):
    one, other = tmp_path / "one.db", tmp_path / "other.db"
    assert [kickoff(mode, counting(file), {"id": "7"}) for file in (one, one, other)] == [1, 2, 1]
    with pytest.raises(ConnectionError):
        kickoff(mode, counting(one), {"id": "7", "failing": 3})
    assert kickoff(mode, counting(other), {"id": "7"}) == 2
    one.unlink()
    assert kickoff(mode, counting(other), {"id": "7"}) == 3


@pytest.mark.filterwarnings("ignore:no run of flow")
def test_a_flow_begins_without_a_state_if_its_file_has_none(mode: Mode, tmp_path: Path):
    file = tmp_path / "states.db"
    assert kickoff(mode, counting(file), {"id": "7"}) == 1
    file.unlink()
    assert kickoff(mode, counting(file), {"id": "7"}) == 1
