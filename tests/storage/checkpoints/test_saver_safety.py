"""Safety: a tampered database runs no code, and no text becomes part of the SQL."""

import os
import sqlite3
import sys
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import ormsgpack
import processes
import pytest
from combinations import of
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.types import Interrupt, Send
from storage.checkpoints.saver_graphs import chain, on, run
from storage.checkpoints.tampering import attacks

from crewgraph.errors import StorageError
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.storage.checkpoints.values import StrictSerializer


@dataclass
class Mine:
    secret: str


def retained(saver: SqliteCheckpointer, value: Any, thread: str = "t") -> Any:
    """What comes back for a value."""
    checkpoint: Any = {
        "v": 4, "ts": "now", "id": str(uuid.uuid4()), "channel_values": {"c": value},
        "channel_versions": {"c": "1"}, "versions_seen": {}, "updated_channels": None,
    }  # fmt: skip
    saver.put(on(thread, checkpoint_ns=""), checkpoint, {"step": 0}, {"c": "1"})
    stored = saver.get_tuple(on(thread, checkpoint_id=checkpoint["id"]))
    assert stored is not None
    return stored.checkpoint["channel_values"]["c"]


def test_plain_data_messages_and_langgraphs_own_types_come_back_as_they_were():
    values = [
        None, True, 1, -(2**62), 1.5, "é\0", b"\0\xff", [1, [2]], {"a": {"b": None}}, {1, 2}, uuid.uuid4(),
        datetime.now(UTC), HumanMessage("hi"), AIMessage("yes", id="1"), Send("node", {"x": 1}),
        Interrupt(value=1, id="2"),
    ]  # fmt: skip
    with SqliteCheckpointer(":memory:") as saver:
        assert [retained(saver, value) for value in values] == values


def test_a_dictionary_that_looks_like_a_constructor_stays_a_dictionary():
    lures = [
        {"lc": 1, "type": "secret", "id": ["OPENAI_API_KEY"]},
        {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "AIMessage"], "kwargs": {"content": "x"}},
        {"lc": 2, "type": "constructor", "id": ["os", "system"], "args": ["true"]},
    ]
    with SqliteCheckpointer(":memory:") as saver:
        assert [retained(saver, lure) for lure in lures] == lures


class Mirrored:
    """A cipher that hides nothing from anyone but a search."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "mirror", plaintext[::-1]

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        assert ciphername == "mirror"
        return ciphertext[::-1]


def test_an_encrypting_serializer_leaves_no_value_and_no_metadata_in_the_clear(tmp_path: Path):
    file = tmp_path / "runs.sqlite"
    serde = EncryptedSerializer(Mirrored(), StrictSerializer())
    with SqliteCheckpointer(file, serde=serde) as saver:
        graph = chain(3, saver, "a secret that is said " * 40)
        config = on("t", whose="another secret")
        end = run(graph, {"inputs": "a secret that is asked"}, config)
        assert b"terces a" in file.read_bytes() + Path(f"{file}-wal").read_bytes()
    assert b"secret" not in file.read_bytes()
    with SqliteCheckpointer(file, serde=serde) as saver:
        assert chain(3, saver).get_state(on("t")).values == end
        assert [checkpoint.metadata.get("whose") for checkpoint in saver.list(on("t"), limit=1)] == ["another secret"]


def test_a_class_comes_back_as_its_fields_unless_it_is_allowed():
    with SqliteCheckpointer(":memory:") as saver:
        allowed = saver.with_allowlist([(Mine.__module__, "Mine")])
        assert retained(saver, Mine("s")) == {"secret": "s"}
        assert retained(allowed, Mine("s")) == Mine("s")
        assert saver.with_allowlist([]) is saver
        allowed.close()
        with pytest.raises(StorageError, match="closed"):
            retained(saver, 1)


def test_what_cannot_be_stored_is_refused_before_anything_is_written():
    with SqliteCheckpointer(":memory:") as saver:
        assert retained(saver, 1) == 1
        with pytest.raises(TypeError, match="not msgpack serializable"):
            retained(saver, test_what_cannot_be_stored_is_refused_before_anything_is_written)
        assert len(list(saver.list(on("t")))) == 1


@pytest.mark.parametrize("attack", sorted(attacks(Path())))
def test_a_tampered_value_runs_nothing(attack: str, tmp_path: Path):
    file, touched = tmp_path / "runs.sqlite", tmp_path / "touched"
    with SqliteCheckpointer(file) as saver:
        retained(saver, "value")
        saver.put_writes({"configurable": saver_place(saver)}, [("c", "write")], "task")
    typed = attacks(touched)[attack]
    connection = sqlite3.connect(file)
    connection.execute("UPDATE payloads SET kind = ?, data = ?", typed)
    connection.execute("UPDATE writes SET kind = ?, data = ?", typed)
    connection.commit()
    connection.close()
    with SqliteCheckpointer(file) as saver:
        try:
            stored = saver.get_tuple(on("t"))
        except StorageError as error:
            assert str(file) in str(error) and "damaged" in str(error)
        else:
            assert stored is not None
            values = [stored.checkpoint["channel_values"]["c"], *[value for *_, value in stored.pending_writes or ()]]
            assert all(os.environ["PATH"] not in str(value) for value in values)
            assert not any(callable(value) for value in values)
    assert not touched.exists()


def saver_place(saver: SqliteCheckpointer) -> dict[str, Any]:
    return next(iter(saver.list(None))).config.get("configurable", {})


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("versions", "{"), ("versions", "[1]"), ("versions", "[[], []]"), ("versions", b"\xff"),
        ("versions", '[[["1", {"c": []}]], {}]'), ("versions", '[[["1", {"c": 99}]], {}]'),
        ("versions", '[[], {"n": 1}]'), ("versions", "[" * 50_000), ("parent", "missing"),
        ("parent", "itself"),
        ("head", b"\xc1"), ("head", b"\x01"),
        ("head", ormsgpack.packb([1, 2])), ("head", ormsgpack.packb([1, "", None, 1, 1])), ("kind", "pickle"),
    ],
)  # fmt: skip
def test_a_tampered_checkpoint_is_reported_and_read_nowhere(column: str, value: Any, tmp_path: Path):
    file = tmp_path / "runs.sqlite"
    with SqliteCheckpointer(file) as saver:
        retained(saver, "value")
        id = saver_place(saver)["checkpoint_id"]
    connection = sqlite3.connect(file)
    connection.execute(f"UPDATE checkpoints SET {column} = ?", (id if value == "itself" else value,))
    connection.execute("UPDATE checkpoints SET drift = 1 WHERE parent NOT NULL")
    connection.commit()
    connection.close()
    with SqliteCheckpointer(file) as saver:
        for read in (lambda: saver.get_tuple(on("t")), lambda: list(saver.list(on("t")))):
            with pytest.raises(StorageError) as caught:
                read()
            assert str(file) in str(caught.value) and "Move the file away" in str(caught.value)


names = st.text(min_size=1, max_size=20).filter(lambda text: text.isprintable() or text.isascii())
nasty = st.sampled_from(
    [
        "'", '"', "' OR 1=1 --", "x') OR ('1'='1", "$.a", "a.b", "a[0]", "%", "_", "?", ":a", "\0", "\U0001f600",
        "x; DROP TABLE writes",
    ]
)  # fmt: skip


@settings(max_examples=of(20, 60))
@given(key=names | nasty, value=names | nasty | st.none() | st.integers() | st.booleans())
def test_no_filter_finds_what_it_does_not_equal(key: str, value: Any):
    with SqliteCheckpointer(":memory:") as saver:
        retained(saver, 1)
        matches = list(saver.list(None, filter={key: value}))
        assert len(matches) == (1 if (key == "step" and value == 0) or (value is None and key != "step") else 0)
        assert len(list(saver.list(on("t"), filter={"step": 0}))) == 1


@settings(max_examples=of(20, 60))
@given(thread=names | nasty, other=names | nasty)
def test_a_thread_may_have_any_name_and_meets_no_other(thread: str, other: str):
    with SqliteCheckpointer(":memory:") as saver:
        retained(saver, "mine", thread)
        if other != thread:
            assert saver.get_tuple(on(other)) is None
            saver.delete_thread(other)
        assert [checkpoint.checkpoint["channel_values"] for checkpoint in saver.list(on(thread))] == [{"c": "mine"}]
        saver.delete_thread(thread)
        assert list(saver.list(None)) == []


def test_a_namespace_is_no_prefix_of_another():
    with SqliteCheckpointer(":memory:") as saver:
        for ns in ("a", "ab", "a|b", "a:b", "%"):
            checkpoint: Any = {
                "v": 4, "ts": "", "id": "1", "channel_values": {}, "channel_versions": {},
                "versions_seen": {}, "updated_channels": None,
            }  # fmt: skip
            saver.put(on("t", checkpoint_ns=ns), checkpoint, {}, {})
        assert len(list(saver.list(on("t", checkpoint_ns="a")))) == 1
        assert len(list(saver.list(on("t")))) == 5


STRICT = """
import sys
from langgraph._internal import _serde
assert _serde.STRICT_MSGPACK_ENABLED
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.storage.checkpoints.values import StrictSerializer
sys.path.insert(0, sys.argv[1])
from storage.checkpoints.saver_graphs import looped, on, run
with SqliteCheckpointer(":memory:") as saver:
    graph = looped(saver)
    assert run(graph, {"log": [], "count": 0}, on("t"))["__interrupt__"]
    assert len(list(graph.get_state_history(on("t")))) > 5
"""


def test_langgraphs_strict_mode_runs_on_it():
    environment = os.environ | {"LANGGRAPH_STRICT_MSGPACK": "true", "PYTHONPATH": os.pathsep.join(sys.path)}
    processes.run([sys.executable, "-c", STRICT, str(Path(__file__).parents[2])], env=environment, check=True)
