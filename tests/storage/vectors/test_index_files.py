"""The file of an index: whole or refused, and replaced in one move."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import processes
import pytest
from storage.vectors.clusters import clustered

from crewgraph.errors import StorageError, TornIndex
from crewgraph.storage.vectors.index import GrowingIndex

DIMS = 8


def made(n: int = 300) -> GrowingIndex:
    index = GrowingIndex(DIMS)
    index.add(np.arange(n), clustered(n, DIMS))
    index.add(np.arange(n, n + 10), clustered(10, DIMS, seed=3))
    return index


@pytest.fixture
def index() -> GrowingIndex:
    return made()


def test_what_was_saved_is_loaded(index: GrowingIndex, tmp_path: Path):
    index.save(tmp_path / "vectors", generation=-7)
    other = GrowingIndex(DIMS)
    other.add([9_999], [[1] * DIMS])
    assert other.load(tmp_path / "vectors") == -7
    assert other.ids.tolist() == list(range(310))
    for query in clustered(20, DIMS, seed=2):
        mine, its = other.search(query, 5), index.search(query, 5)
        assert mine[0].tolist() == its[0].tolist()
        assert mine[1].tolist() == pytest.approx(its[1].tolist())


def test_what_was_loaded_continues_growing_and_shrinking(index: GrowingIndex, tmp_path: Path):
    index.save(tmp_path / "vectors")
    other = GrowingIndex(DIMS)
    other.load(tmp_path / "vectors")
    other.add(np.arange(200, 2000), clustered(1800, DIMS, seed=5))
    other.remove(np.arange(100))
    assert other.ids.tolist() == list(range(100, 2000))
    assert other.search(clustered(1800, DIMS, seed=5)[3], 1)[0].tolist() == [203]
    other.remove(np.arange(1990))
    assert other.ids.tolist() == list(range(1990, 2000))


def test_an_empty_index_is_saved_and_loaded(tmp_path: Path):
    GrowingIndex(DIMS).save(tmp_path / "vectors")
    other = GrowingIndex(DIMS)
    assert other.load(tmp_path / "vectors") == 0
    assert len(other) == 0


def refused(data: bytes, path: Path, reported: str = "is not an intact vector index") -> None:
    path.write_bytes(data)
    index = GrowingIndex(DIMS)
    index.add([5], [[1] * DIMS])
    with pytest.raises(TornIndex, match=reported):
        index.load(path)
    assert index.ids.tolist() == [5]


def test_a_file_that_is_cut_off_anywhere_is_refused(index: GrowingIndex, tmp_path: Path):
    index.save(tmp_path / "vectors")
    data = (tmp_path / "vectors").read_bytes()
    for end in [*range(120), *range(120, len(data), 97), *range(len(data) - 20, len(data))]:
        refused(data[:end], tmp_path / "cut")
    refused(data + b"\0", tmp_path / "long")


def test_a_file_in_which_any_bit_is_another_is_refused(index: GrowingIndex, tmp_path: Path):
    index.save(tmp_path / "vectors")
    data = (tmp_path / "vectors").read_bytes()
    random = np.random.default_rng(3)
    for at in [*range(72), *random.integers(72, len(data), 200).tolist(), len(data) - 1]:
        flipped = bytearray(data)
        flipped[at] ^= 1 << int(random.integers(8))
        refused(bytes(flipped), tmp_path / "flipped")


def test_a_file_whose_middle_was_never_written_is_refused(index: GrowingIndex, tmp_path: Path):
    index.save(tmp_path / "vectors")
    data = (tmp_path / "vectors").read_bytes()
    refused(data[:500] + bytes(1000) + data[1500:], tmp_path / "hole", "checksum")


@pytest.mark.parametrize("data", [b"", b"\0" * 5000, b"SQLite format 3\0" * 500, b"IxFI" * 900, os.urandom(4096)])
def test_a_file_of_another_kind_is_refused(data: bytes, tmp_path: Path):
    refused(data, tmp_path / "foreign", "is of another kind")


def test_vectors_of_other_dimensions_are_refused(tmp_path: Path):
    GrowingIndex(3).save(tmp_path / "vectors")
    with pytest.raises(TornIndex, match="3 dimensions, not 8"):
        GrowingIndex(DIMS).load(tmp_path / "vectors")


def test_a_file_that_is_not_there_is_reported_as_python_does(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        GrowingIndex(DIMS).load(tmp_path / "none")


def test_a_folder_in_its_place_is_reported(tmp_path: Path):
    with pytest.raises(StorageError, match="cannot be read"):
        GrowingIndex(DIMS).load(tmp_path)
    with pytest.raises(StorageError, match="cannot be written"):
        made().save(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="there are no modes")
def test_only_its_owner_may_read_it(tmp_path: Path):
    made().save(tmp_path / "vectors")
    assert stat.S_IMODE((tmp_path / "vectors").stat().st_mode) == 0o600


@pytest.mark.skipif(sys.platform == "win32", reason="needs `resource`")
def test_where_the_disk_is_full_the_old_file_stays(tmp_path: Path):
    program = """
import resource, signal, sys
import numpy as np
from crewgraph.errors import StorageError
from crewgraph.storage.vectors.index import GrowingIndex
index = GrowingIndex(8)
index.add(np.arange(10), np.eye(10, 8))
index.save(sys.argv[1], generation=1)
index.add(np.arange(5000), np.ones((5000, 8)))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    index.save(sys.argv[1], generation=2)
except StorageError:
    print("refused")
"""
    path = tmp_path / "vectors"
    done = processes.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"
    assert [path.name for path in tmp_path.iterdir()] == ["vectors"]
    other = GrowingIndex(8)
    assert (other.load(path), len(other)) == (1, 10)


def test_a_process_that_is_killed_while_it_saves_leaves_the_old_file_or_the_new_one(tmp_path: Path):
    program = """
import sys
import numpy as np
from crewgraph.storage.vectors.index import GrowingIndex
index = GrowingIndex(64)
index.add(np.arange(6000), np.random.default_rng(1).standard_normal((6000, 64)))
for generation in range(10**6):
    index.save(sys.argv[1], generation=generation)
    print(generation, flush=True)
"""
    path, last = tmp_path / "vectors", -1
    for round_ in range(5):
        with processes.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True) as saving:
            assert saving.stdout is not None
            for _ in range(2 + round_ % 3):
                last = int(saving.stdout.readline())
            saving.kill()
            last = max([last, *(int(line) for line in saving.stdout.read().split())])
        other = GrowingIndex(64)
        assert other.load(path) >= last
        assert len(other) == 6000
