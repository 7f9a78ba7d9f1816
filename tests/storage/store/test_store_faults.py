"""Full disks, damaged, missing or foreign files, and wrong use."""

import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import processes
import pytest
from langgraph.store.base import PutOp
from modes import Mode

from crewgraph.core.operations import adrive, drive
from crewgraph.errors import OtherFormat, StorageError
from crewgraph.storage.store import FaissStore
from crewgraph.storage.store.namespace import Entry, StoreNamespace
from storage.store.bag_of_words import Bag
from storage.store.store_face import Face

MANY = 300


def opened(path: Path, bag: Bag | None = None, **options: Any) -> FaissStore:
    return FaissStore(path, index={"embed": bag or Bag(), "fields": ["text"]}, **options)


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    path = tmp_path / "s.db"
    with opened(path) as store:
        store.batch([PutOp(("n", str(n % 3)), str(n), {"text": f"tea {n}"}) for n in range(MANY)])
        store.search((), query="tea")
    return path


def finds_all(store: FaissStore, count: int = MANY) -> bool:
    nearest = [store.search(("n",), query=f"tea {n}", limit=1)[0].key == str(n) for n in range(0, count, 17)]
    return all(nearest) and len(store.search((), query="tea", limit=10_000)) == count


@pytest.fixture
def small(filled: Path) -> Iterator[FaissStore]:
    """A store whose disk is nearly full."""
    with opened(filled) as store:
        store.search((), query="tea")
        limit(store, 2)
        yield store


def limit(store: FaissStore, more: int) -> None:
    def set_limit(connection: sqlite3.Connection) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + more}")

    store._database.query(set_limit)  # pyright: ignore[reportPrivateUsage]


def test_a_full_disk_is_reported_and_what_was_saved_stays(small: FaissStore, mode: Mode):
    face = Face(small, mode)
    with pytest.raises(StorageError, match="the disk is full.*Nothing that was saved is lost.*Free some space"):
        face.batch([PutOp(("m",), str(n), {"text": f"milk {n}"}) for n in range(500)])
    assert face.keys(("m",)) == []
    assert finds_all(small)
    limit(small, 10_000)
    face.batch([PutOp(("m",), str(n), {"text": f"milk {n}"}) for n in range(500)])
    assert len(face.search(("m",), query="milk", limit=1000)) == 500


LIMITED = """
import resource, sys
from langgraph.store.base import PutOp
from crewgraph.errors import StorageError
from crewgraph.storage.store import FaissStore
from storage.store.bag_of_words import Bag
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = FaissStore(sys.argv[1], index={"embed": Bag(), "fields": ["text"]})
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
saved = 0
try:
    for saved in range(100_000):
        store.put(("n",), str(saved), {"text": f"tea {saved % 9999}", "more": "x" * 200})
except StorageError as error:
    print(error)
assert len(store.search((), limit=100_000)) == saved
assert len(store.search((), query="tea", limit=100_000)) == saved
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
store.put(("n",), "after", {"text": "milk"})
assert store.search((), query="milk", limit=1)[0].key == "after"
store.close()
print(saved)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="files have no limits here")
def test_a_file_that_cannot_grow_is_reported_and_grows_when_it_can(tmp_path: Path):
    root = Path(__file__).parents[3]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), str(root / "tests"), *sys.path])}
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "s.db")]
    done = processes.run(command, env=environment, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    error, saved = done.stdout.splitlines()
    assert "cannot be read or written: the disk reported an error" in error or "the disk is full" in error
    assert int(saved) > 5
    with opened(tmp_path / "s.db") as store:
        assert len(store.search((), query="tea", limit=100_000)) == int(saved) + 1


def test_a_store_of_a_newer_crewgraph_is_not_touched(filled: Path):
    connection = sqlite3.connect(filled)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(OtherFormat, match="The store .* has format 99, and this version of crewgraph reads format 6"):
        opened(filled)


def test_a_vector_of_another_length_in_the_file_is_reported(filled: Path):
    connection = sqlite3.connect(filled)
    connection.execute("UPDATE vectors SET data = x'00' WHERE id = (SELECT max(id) FROM vectors)")
    connection.commit()
    connection.close()
    with opened(filled) as store, pytest.raises(StorageError, match="is damaged: a vector does not have 64 numbers"):
        store.search((), query="tea")


def test_a_memory_whose_file_was_deleted_begins_anew(tmp_path: Path, mode: Mode):
    shelf = StoreNamespace("notes", storage=tmp_path, embedder=Bag())

    def remembered(key: str) -> list[str]:
        entry = Entry(key, f"{key} of tea")
        mode.run(drive, adrive, shelf.putting([entry]))
        return sorted(found.key for found in mode.run(drive, adrive, shelf.searching("tea", 3)))

    assert [remembered(key) for key in ("leaf", "cup")] == [["leaf"], ["cup", "leaf"]]
    for file in tmp_path.iterdir():
        file.unlink()
    assert [remembered(key) for key in ("pot", "cup")] == [["pot"], ["cup", "pot"]]
