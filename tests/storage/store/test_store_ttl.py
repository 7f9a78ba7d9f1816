"""Entries with a time to live."""

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from langgraph.store.base import TTLConfig
from modes import Mode
from waiting import LONG, wait_until

from crewgraph.storage.store import FaissStore
from storage.store.bag_of_words import Bag
from storage.store.store_face import Face

SHORT = 1.0  # minutes


def opened(path: Path, **ttl: object) -> FaissStore:
    return FaissStore(path, index={"embed": Bag(), "fields": ["text"]}, ttl=TTLConfig(**ttl))  # pyright: ignore[reportArgumentType]


def left(path: Path) -> tuple[int, int, int]:
    connection = sqlite3.connect(path)
    try:
        counted = (
            connection.execute(f"SELECT count(*) FROM {table}") for table in ("entries", "vectors", "namespaces")
        )
        entries, vectors, namespaces = (count.fetchone()[0] for count in counted)
        return entries, vectors, namespaces
    finally:
        connection.close()


def pass_minutes(path: Path, minutes: float) -> None:
    """Let time pass for what the file holds: nobody sits through it, and a slow machine adds none of its own."""
    with closing(sqlite3.connect(path, timeout=LONG)) as connection, connection:
        connection.execute("UPDATE entries SET expires = expires - ?", (minutes * 60,))


def test_what_has_expired_is_swept_with_all_that_belongs_to_it(tmp_path: Path, mode: Mode):
    path = tmp_path / "s.db"
    with opened(path) as store:
        face = Face(store, mode)
        face.put(("a",), "short", {"text": "tea"}, ttl=SHORT)
        face.put(("b",), "long", {"text": "tea"}, ttl=10)
        face.put(("b",), "ever", {"text": "tea"})
        assert store.sweep_ttl() == 0
        pass_minutes(tmp_path / "s.db", 2)
        assert len(face.search((), query="tea", refresh_ttl=False)) == 3
        swept = asyncio.run(store.asweep_ttl()) if mode.asynchronous else store.sweep_ttl()
        assert swept == 1
        assert sorted(face.keys((), query="tea")) == ["ever", "long"]
        assert face.namespaces() == [("b",)]
    assert left(path) == (2, 2, 1)


def test_expired_entries_are_not_shown_where_that_is_asked_for(tmp_path: Path, mode: Mode):
    with opened(tmp_path / "s.db", omit_expired=True) as store:
        face = Face(store, mode)
        face.put(("a",), "short", {"text": "tea"}, ttl=SHORT)
        face.put(("b",), "ever", {"text": "tea"})
        assert len(face.search((), query="tea", refresh_ttl=False)) == 2
        pass_minutes(tmp_path / "s.db", 2)
        assert face.get(("a",), "short") is None
        assert face.keys(()) == ["ever"]
        assert face.keys((), query="tea") == ["ever"]
        assert face.namespaces() == [("b",)]


def test_reading_refreshes_unless_it_is_not_to(tmp_path: Path, mode: Mode):
    with opened(tmp_path / "s.db", default_ttl=2, refresh_on_read=True) as store:
        face = Face(store, mode)
        for key in ("got", "searched", "found", "looked at", "replaced", "left"):
            face.put((key.replace(" ", "_"),), key, {"text": "tea"})
        for _ in range(3):
            pass_minutes(tmp_path / "s.db", 1)
            face.get(("got",), "got")
            face.search(("searched",))
            face.search(("found",), query="tea")
            face.get(("looked_at",), "looked at", refresh_ttl=False)
            face.put(("replaced",), "replaced", {"text": "tea"})
        assert store.sweep_ttl() == 2
        assert sorted(face.keys(())) == ["found", "got", "replaced", "searched"]


def test_the_sweeper_sweeps_until_it_is_stopped(tmp_path: Path):
    with opened(tmp_path / "s.db", default_ttl=0.0, sweep_interval_minutes=1) as store:
        ended = store.start_ttl_sweeper(0.02 / 60)
        assert store.start_ttl_sweeper(0.02 / 60) is ended
        store.put(("a",), "k", {"n": 1})
        wait_until(lambda: store.get(("a",), "k", refresh_ttl=False) is None)
        assert store.stop_ttl_sweeper(LONG)
        assert ended.done()
        store.put(("a",), "k", {"n": 1})
        time.sleep(0.1)
        assert store.get(("a",), "k", refresh_ttl=False) is not None
        again = store.start_ttl_sweeper(0.02 / 60)
    wait_until(again.done)


def test_without_a_configuration_there_is_nothing_to_sweep(tmp_path: Path):
    with FaissStore(tmp_path / "s.db", embedder=False) as store:
        assert store.start_ttl_sweeper().done()
        assert store.stop_ttl_sweeper()
