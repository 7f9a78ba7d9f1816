"""Runs in tampered databases: no row runs code, whichever checkpointer stores it."""

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path
from typing import Any, TypedDict, cast
from uuid import uuid4

import psycopg
import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, StateGraph
from modes import Mode, graph_of
from pydantic import BaseModel
from runtime.parts import agent, crew, task
from servers.postgres import Postgres
from storage.checkpoints.saver_graphs import on
from storage.checkpoints.tampering import RUNNING, attacks

from crewgraph import Crew, Flow, ScriptedLLM, listen, start
from crewgraph.errors import StorageError
from crewgraph.storage.checkpoints import SqliteCheckpointer, StrictSerializer, TrustedSerializer
from crewgraph.storage.checkpoints.strict import strictly_reading

Typed = tuple[str, bytes]
REFUSALS = StorageError, RuntimeError, ValueError, TypeError, LookupError, AttributeError, ConnectionError
"""What a reader may say of bytes that are no values of its run."""

Saver = BaseCheckpointSaver[Any]


class Counting(InMemorySaver):
    """A saver of somebody else's, with a state of its own that it sets anew, as one with a lazy connection does."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()
        self.opened: object = None

    def get_tuple(self, config: Any) -> Any:
        self.opened = self.opened or object()
        self.calls += Counter(["get_tuple"])
        return super().get_tuple(config)


class Wrapping(InMemorySaver):
    """A saver that hands some calls to another one."""

    def __init__(self) -> None:
        self.inner = InMemorySaver()
        super().__init__()

    def get_tuple(self, config: Any) -> Any:
        return self.inner.get_tuple(config)

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        return self.inner.put(config, checkpoint, metadata, new_versions)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.inner.put_writes(config, writes, task_id, task_path)

    def list(self, *args: Any, **options: Any) -> Any:
        return self.inner.list(*args, **options)


class Plain:
    """A cipher that hides nothing, for who has the key."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "plain", plaintext

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return ciphertext


def tamper_in_memory(saver: Any, typed: Typed) -> None:
    for key in list(saver.blobs):
        saver.blobs[key] = typed
    for written in saver.writes.values():
        for place, (id, channel, _, path) in list(written.items()):
            written[place] = id, channel, typed, path


class Storage:
    """One place where runs are stored."""

    def __init__(self, kind: str, folder: Path, postgres: "Postgres | None") -> None:
        self.kind, self.file, self.postgres = kind, folder / "runs.sqlite", postgres
        self.saver: Any = None

    @contextmanager
    def opened(self) -> Generator[Any]:
        """The saver, for sync runs and, but for PostgreSQL, for async ones."""
        match self.kind:
            case "sqlite" | "sqlite, plain serializer":
                serde = None if self.kind == "sqlite" else JsonPlusSerializer()
                with SqliteCheckpointer(self.file, serde=serde) as saver:
                    yield saver
            case "postgres":
                assert self.postgres is not None
                with PostgresSaver.from_conn_string(self.postgres.dsn) as saver:
                    yield saver
            case _:
                self.saver = self.saver or self._in_memory()
                yield self.saver

    def _in_memory(self) -> Saver:
        match self.kind:
            case "encrypted":
                return InMemorySaver(serde=EncryptedSerializer(Plain()))
            case "listed":
                return InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=[("uuid", "UUID")]))
            case "wrapping":
                return Wrapping()
            case _:
                return Counting()

    def tamper(self, typed: Typed, thread: str) -> None:
        if self.file.exists():
            with sqlite3.connect(self.file) as connection:
                connection.execute("UPDATE payloads SET kind = ?, data = ?", typed)
                connection.execute("UPDATE writes SET kind = ?, data = ? WHERE data NOT NULL", typed)
            connection.close()
        elif self.postgres is not None:
            with psycopg.connect(self.postgres.dsn, autocommit=True) as connection:
                for table in ("checkpoint_blobs", "checkpoint_writes"):
                    rows: Any = f"UPDATE {table} SET type = %s, blob = %s WHERE thread_id = %s"
                    assert connection.execute(rows, (*typed, thread)).rowcount
        else:
            tamper_in_memory(getattr(self.saver, "inner", self.saver), typed)


KINDS = ["sqlite", "sqlite, plain serializer", "postgres", "in memory", "encrypted", "listed", "wrapping"]


@pytest.fixture(params=KINDS)
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    server = request.getfixturevalue("postgres") if request.param == "postgres" else None
    return Storage(request.param, tmp_path, server)


def failing(llm: ScriptedLLM, **more: Any) -> Crew:
    worker = agent(llm)
    return crew(task("first", worker), task("second", worker), **more)


def script() -> ScriptedLLM:
    return ScriptedLLM(["one", ConnectionError("down"), "two"], repeat_last=True)


def touched_soon(file: Path) -> bool:
    deadline = time.monotonic() + 5
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return file.exists()


@pytest.mark.parametrize("attack", RUNNING)
def test_a_tampered_row_runs_nothing(stored: Storage, attack: str, tmp_path: Path):
    touched, thread = tmp_path / "touched", uuid4().hex
    team = failing(script())
    with stored.opened() as saver, pytest.raises(ConnectionError):
        team.kickoff(thread_id=thread, checkpointer=saver)
    stored.tamper(attacks(touched)[attack], thread)
    with stored.opened() as saver:
        for read in (
            lambda: team.resume(thread, checkpointer=saver),
            lambda: team.history(thread, checkpointer=saver),
            lambda: team.fork("second", thread_id=thread, checkpointer=saver),
            lambda: team.runs(checkpointer=saver),
            lambda: team.compile(checkpointer=saver).get_state(on(thread)),
            lambda: team.compile(checkpointer=saver, granularity="step").invoke(None, on(thread)),
        ):
            with suppress(*REFUSALS):
                read()
        assert not touched.exists()
        if stored.kind not in ("sqlite", "listed"):
            # The bytes are what they should be: another graph's use of the same saver runs them.
            with suppress(StorageError):
                saver.get_tuple(on(thread))
            assert touched_soon(touched)


class Page(TypedDict, total=False):
    inputs: dict[str, Any]
    text: str


@pytest.mark.parametrize("attack", RUNNING)
@pytest.mark.parametrize("inside", ["a node", "the code of a node"])
def test_a_graph_around_a_crew_reads_by_its_own_saver(mode: Mode, inside: str, attack: str, tmp_path: Path):
    touched, saver = tmp_path / "touched", InMemorySaver(serde=StrictSerializer())
    team = failing(script())
    outer: Any = StateGraph(Page)

    def write(state: Page) -> Page:
        return {"text": team.kickoff(state.get("inputs")).raw}

    outer.add_node("team", mode.compile(team) if inside == "a node" else write)
    outer.add_edge(START, "team")
    app = outer.compile(checkpointer=saver)
    with pytest.raises(ConnectionError):
        mode.invoke(app, {"inputs": {}}, on("t"))
    tamper_in_memory(saver, attacks(touched)[attack])
    with suppress(*REFUSALS):
        mode.invoke(app, None, on("t"))
    assert not touched.exists()


class Steps(BaseModel):
    n: int = 0


OUTAGES: list[str] = []


class Climb(Flow[Steps]):
    @start()
    def one(self) -> str:
        self.state.n += 1
        return "one"

    @listen(one)
    def two(self) -> int:
        self.state.n += 1
        if OUTAGES:
            raise ConnectionError(OUTAGES.pop())
        return self.state.n


@pytest.mark.parametrize("attack", RUNNING)
def test_a_tampered_row_of_a_flow_runs_nothing(stored: Storage, attack: str, tmp_path: Path):
    touched = tmp_path / "touched"
    with stored.opened() as saver:
        flow = Climb(checkpointer=saver)
        OUTAGES.append("down")
        with pytest.raises(ConnectionError):
            flow.kickoff()
    stored.tamper(attacks(touched)[attack], flow.flow_id)
    with stored.opened() as saver:
        for read in (
            lambda: Climb(checkpointer=saver).resume(flow.flow_id),
            lambda: Climb(checkpointer=saver).runs(),
            lambda: Climb(checkpointer=saver).history(flow.flow_id),
            lambda: Climb().compile(checkpointer=saver).get_state(on(flow.flow_id)),
        ):
            with suppress(*REFUSALS):
                read()
        assert not touched.exists()


def test_runs_written_by_the_plain_serializer_continue(mode: Mode, tmp_path: Path):
    """Their values need no class but LangGraph's own."""
    saver = InMemorySaver(serde=TrustedSerializer(JsonPlusSerializer()))
    model = script()
    with pytest.raises(ConnectionError):
        mode.kickoff(failing(model), {"day": date(2025, 1, 31)}, thread_id="t", checkpointer=saver)
    flow = Climb(checkpointer=saver)
    OUTAGES.append("down")
    with pytest.raises(ConnectionError):
        flow.kickoff()
    saver.serde = JsonPlusSerializer()
    assert mode.resume(failing(model), "t", checkpointer=saver).raw == "two"
    assert len(model.requests) == 3
    assert Climb(checkpointer=saver).resume(flow.flow_id) == 2


class Town:
    def __init__(self, name: str) -> None:
        self.name = name

    def model_dump(self) -> dict[str, str]:
        return {"name": self.name}


def test_a_saver_that_is_shared_with_another_graph_stays_as_it_is():
    class State(TypedDict, total=False):
        town: Town

    saver = Counting()
    serde = saver.serde

    def ulm(_: State) -> State:
        return {"town": Town("Ulm")}

    own = graph_of(State, {"ulm": ulm}, checkpointer=saver)
    own.invoke({}, cast("Any", on("own")))
    worker = agent(ScriptedLLM(["done"], repeat_last=True))
    team = crew(task("first", worker))
    team.kickoff(thread_id="team", checkpointer=saver)
    calls = saver.calls["get_tuple"]
    assert saver.opened is not None and calls > 1
    assert team.resume("team", checkpointer=saver).raw == "done"
    assert saver.calls["get_tuple"] > calls
    assert saver.serde is serde
    assert isinstance(own.get_state(cast("Any", on("own"))).values["town"], Town)


@pytest.mark.parametrize(
    "serde", [StrictSerializer(), TrustedSerializer(JsonPlusSerializer())], ids=["strict", "trusted"]
)
def test_a_saver_with_a_serializer_that_is_declared_safe_is_used_itself(serde: Any):
    saver = InMemorySaver(serde=serde)
    assert strictly_reading(saver) is saver


def test_classes_that_the_savers_own_list_allows_are_still_read():
    saver = InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=[(Town.__module__, "Town")]))
    view = strictly_reading(saver)
    assert isinstance(view.serde.loads_typed(view.serde.dumps_typed(Town("Ulm"))), Town)
    other = InMemorySaver()
    assert strictly_reading(other).serde.loads_typed(other.serde.dumps_typed(Town("Ulm"))) == {"name": "Ulm"}


class Unknown:
    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return JsonPlusSerializer().dumps_typed(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return JsonPlusSerializer().loads_typed(data)


class Derived(JsonPlusSerializer):
    pass


@pytest.mark.parametrize(
    "serde", [Unknown(), Derived(), EncryptedSerializer(Plain(), Derived())], ids=["unknown", "derived", "encrypted"]
)
def test_an_unknown_serializer_is_refused_with_the_remedy(mode: Mode, serde: Any):
    llm = script()
    runs: list[Callable[[Any], object]] = [
        lambda saver: mode.kickoff(failing(llm), checkpointer=saver),
        lambda saver: failing(llm).compile(checkpointer=saver),
        lambda saver: Climb(checkpointer=saver).kickoff(),
        lambda saver: Climb().compile(checkpointer=saver),
    ]
    for run in runs:
        with pytest.raises(
            StorageError, match=r"the InMemorySaver reads with a (Unknown|Derived).*`serde=StrictSerializer\(\)`"
        ):
            run(InMemorySaver(serde=serde))
    assert llm.requests == []


def test_a_row_of_pickle_is_never_read(mode: Mode):
    llm = script()
    saver = InMemorySaver(serde=JsonPlusSerializer(pickle_fallback=True))
    with pytest.raises(ConnectionError):
        mode.kickoff(failing(llm), thread_id="t", checkpointer=saver)
    tamper_in_memory(saver, ("pickle", b"cos\ngetcwd\n(tR."))
    with pytest.raises(NotImplementedError, match="crewgraph reads no pickle"):
        mode.resume(failing(llm), "t", checkpointer=saver)
