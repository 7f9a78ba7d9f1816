"""Stored runs: killed and resumed, loaded, inspected, forked."""

import os
import sys
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import processes
import pytest
from modes import Mode
from pydantic import BaseModel

from crewgraph.errors import DefinitionError, RunError
from crewgraph.flow import Flow, FlowPersistence, and_, listen, persist, router, start
from crewgraph.storage.checkpoints import SqliteCheckpointer

from .parts import kickoff, resume

ROOT = Path(__file__).parent.parent.parent
RESULT = "anchor! ['port', 'coast'] True"
METHODS = ("leave", "sail", "swim", "arrive", "land", "walk")
REQUESTS = ("model wind", "model wave", "model gull", "model alone", "model rope", "model anchor")


def played(folder: Path, mode: str, point: str) -> tuple[int, str]:
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    own = {"PYTHONPATH": path, "LEDGER": str(folder / "ledger"), "CREWGRAPH_STORAGE_DIR": str(folder)}
    env = {**os.environ, **own}
    command = [sys.executable, "-W", "ignore", "-m", "flow.killed", mode, "journey", point]
    ran = processes.run(command, capture_output=True, text=True, timeout=250, env=env)
    return ran.returncode, ran.stdout.strip() or ran.stderr


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("point", ["leave", "model wave", "model alone", "arrive", "model anchor", "walk"])
def test_a_killed_run_continues_where_it_stopped(tmp_path: Path, mode: str, point: str):
    status, reported = played(tmp_path, mode, point)
    assert status == -9, reported
    before = Counter((tmp_path / "ledger").read_text().splitlines())
    assert played(tmp_path, mode, "") == (0, RESULT)
    after = Counter((tmp_path / "ledger").read_text().splitlines())
    # What was answered is not asked for again, but for the request the process died in.
    assert [name for name in REQUESTS if after[name] != 1 + (name == point)] == []
    # Methods that had completed do not run again; those in flight do.
    assert after["leave"] == (2 if point == "leave" else 1)
    assert after["arrive"] == (2 if point in ("arrive", "model anchor", "walk") else 1)
    assert after["land"] == (2 if point == "model anchor" else 1)
    assert after["sail"] - before["sail"] <= 1 and set(METHODS) <= set(after)


done: list[str] = []
broken: list[str] = []


@pytest.fixture(autouse=True)
def clear_calls() -> None:
    done.clear()
    broken.clear()


class Colour(Enum):
    RED = "red"


class Fish(BaseModel):
    name: str
    colour: Colour = Colour.RED


@dataclass
class Net:
    fish: list[Fish]


class Catch(BaseModel):
    nets: list[Net] = []
    n: int = 0


class Fishing(Flow[Catch]):
    @start()
    def cast(self) -> Net:
        done.append("cast")
        self.state.nets.append(Net([Fish(name="cod")]))
        self.state.n = 1
        return self.state.nets[0]

    @router(cast)
    def weigh(self, net: Net) -> str:
        done.append(f"weigh {net.fish[0].name} {net.fish[0].colour}")
        return "heavy" if self.state.n > 5 else "light"

    @listen("heavy")
    def sell(self) -> str:
        return f"sold {self.state.n}"

    @listen("light")
    def free(self) -> str:
        if broken:
            raise ValueError("the net is torn")
        return f"freed {self.state.n}"


def test_a_run_that_failed_continues_with_what_it_knew(mode: Mode, saver: SqliteCheckpointer):
    broken.append("net")
    first = Fishing(checkpointer=saver)
    with pytest.raises(ValueError, match="torn") as caught:
        kickoff(mode, first)
    assert "in method `free` of flow `Fishing`" in caught.value.__notes__
    broken.clear()
    other = Fishing(checkpointer=saver)
    assert kickoff(mode, other, {"id": first.flow_id}) == "freed 1"
    assert other.state.nets == [Net([Fish(name="cod", colour=Colour.RED)])]
    assert done == ["cast", "weigh cod Colour.RED"]


def test_a_run_that_is_done_begins_anew_with_its_state(mode: Mode, saver: SqliteCheckpointer):
    first = Fishing(checkpointer=saver)
    kickoff(mode, first)
    again = Fishing(checkpointer=saver)
    assert kickoff(mode, again, {"id": first.flow_id}) == "freed 1"
    assert (len(again.state.nets), again.flow_id, done.count("cast")) == (2, first.flow_id, 2)


def test_an_unknown_id_is_reported_and_begins_a_run(mode: Mode, saver: SqliteCheckpointer):
    flow = Fishing(checkpointer=saver)
    with pytest.warns(UserWarning, match="no run of flow `Fishing` is stored under `new`; starting a new one"):
        assert kickoff(mode, flow, {"id": "new"}) == "freed 1"
    assert flow.flow_id == "new"
    with pytest.raises(RunError, match="no run of flow `Fishing` is stored under `nobody`"):
        resume(mode, Fishing(checkpointer=saver), "nobody")


def test_a_state_is_loaded_by_hand_and_its_run_continues(mode: Mode, saver: SqliteCheckpointer):
    broken.append("net")
    first = Fishing(checkpointer=saver)
    with pytest.raises(ValueError, match="torn"):
        kickoff(mode, first)
    broken.clear()
    other = Fishing(checkpointer=saver)
    assert other._load_state(first.flow_id)  # pyright: ignore[reportPrivateUsage] - as the specification prints
    assert other.state.n == 1
    assert kickoff(mode, other) == "freed 1"
    assert done.count("cast") == 1
    assert not Fishing(checkpointer=saver)._load_state("nobody")  # pyright: ignore[reportPrivateUsage]


def test_the_past_is_told_step_by_step(mode: Mode, saver: SqliteCheckpointer):
    flow = Fishing(checkpointer=saver)
    kickoff(mode, flow)
    steps = mode.run(flow.history, flow.ahistory)
    assert [(step.number, step.completed, step.next) for step in steps] == [
        (0, None, ("cast",)), (1, "cast", ("weigh",)), (2, "weigh", ("free",)), (3, "free", ()),
    ]  # fmt: skip
    assert (steps[2].output, steps[3].output, steps[1].state["n"]) == ("light", "freed 1", 1)
    assert steps[1].output == Net([Fish(name="cod")])
    with pytest.raises(RunError, match="no run of flow `Fishing` is stored under `nobody`"):
        mode.run(flow.history, flow.ahistory, "nobody")


def test_a_fork_runs_on_from_a_step_with_another_state(mode: Mode, saver: SqliteCheckpointer):
    flow = Fishing(checkpointer=saver)
    kickoff(mode, flow)
    step = flow.history()[1]
    other = Fishing(checkpointer=saver)
    assert mode.run(other.fork, other.afork, step, {"n": 9}) == "sold 9"
    assert done.count("cast") == 1
    assert [one.completed for one in other.history(flow.flow_id)] == [None, "cast", "weigh", "sell"]
    with pytest.raises(DefinitionError, match="do not fit the state `Catch`"):
        mode.run(other.fork, other.afork, step, {"n": "many"})


class Shelf(FlowPersistence):
    def __init__(self) -> None:
        self.retained: list[tuple[str, str, dict[str, Any]]] = []

    def init_db(self) -> None:
        return None

    def save_state(self, flow_uuid: str, method_name: str, state_data: dict[str, Any] | BaseModel) -> None:
        self.retained.append((flow_uuid, method_name, dict(state_data)))

    def load_state(self, flow_uuid: str) -> dict[str, Any] | None:
        return next((state for name, _, state in reversed(self.retained) if name == flow_uuid), None)


def test_saves_of_chosen_methods_are_reported(
    mode: Mode, saver: SqliteCheckpointer, capsys: pytest.CaptureFixture[str]
):
    shelf = Shelf()

    class Chosen(Flow[dict[str, Any]]):
        @persist(shelf, verbose=True)
        @start()
        def first(self) -> None:
            self.state["a"] = 1

        @listen(first)
        def second(self) -> None:
            self.state["b"] = 2

    kickoff(mode, Chosen(checkpointer=saver))
    assert [method for _, method, _ in shelf.retained] == ["first"]
    assert capsys.readouterr().out.count("Flow state is saved") == 1


def test_a_state_of_any_kind_is_a_dict(mode: Mode):
    class Loose(Flow[Any]):
        @start()
        def tell(self) -> Any:
            return self.state["x"]

    assert kickoff(mode, Loose(x=1)) == 1
    with pytest.raises(DefinitionError, match="flow `Flow` has no `@start"):
        kickoff(mode, Flow())


def test_a_start_method_that_runs_again_is_given_its_inputs(mode: Mode, saver: SqliteCheckpointer):
    class Greeting(Flow[dict[str, Any]]):
        @start()
        def greet(self, fish: Fish) -> str:
            if broken:
                raise ValueError("no voice")
            return f"hello {fish.name}"

    broken.append("voice")
    flow = Greeting(checkpointer=saver)
    with pytest.raises(ValueError, match="no voice"):
        kickoff(mode, flow, {"fish": Fish(name="eel")})
    broken.clear()
    assert resume(mode, Greeting(checkpointer=saver), flow.flow_id) == "hello eel"


def test_the_history_names_all_that_has_completed(mode: Mode, saver: SqliteCheckpointer):
    class Beside(Flow[dict[str, Any]]):
        @start()
        def one(self) -> None:
            pass

        @start()
        def two(self) -> None:
            pass

        @listen(and_(one, two))
        def end(self) -> None:
            pass

    flow = Beside(checkpointer=saver)
    kickoff(mode, flow)
    steps = flow.history()
    methods = [method for step in steps for method in step.methods]
    assert (sorted(methods[:2]), methods[2:]) == (["one", "two"], ["end"])
    assert [step.methods[-1] for step in steps[1:]] == [step.completed for step in steps[1:]]
