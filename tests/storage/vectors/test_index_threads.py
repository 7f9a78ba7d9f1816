"""An index that is used by several threads and processes while it grows."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable

import numpy as np
import pytest
from storage.vectors.clusters import clustered

from crewgraph.storage.vectors.index import GrowingIndex


def beside(*work: Callable[[], None]) -> None:
    """Do several things at once; raise what any of them raises."""
    failed: list[Exception] = []

    def done(one: Callable[[], None]) -> None:
        try:
            one()
        except Exception as error:  # noqa: BLE001 - raised below
            failed.append(error)

    threads = [threading.Thread(target=done, args=(function,)) for function in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def test_while_it_grows_all_that_was_added_is_found_by_all_threads():
    rows = clustered(6000)
    index = GrowingIndex(32, exact_up_to=300)
    added, over = 0, threading.Event()

    def write() -> None:
        nonlocal added
        try:
            for begin in range(0, 6000, 40):
                index.add(np.arange(begin, begin + 40), rows[begin : begin + 40])
                index.fit()
                added = begin + 40
        finally:
            over.set()

    def read(seed: int) -> None:
        random = np.random.default_rng(seed)
        while not over.is_set():
            if added:
                row = int(random.integers(added))
                assert row in index.search(rows[row], 1, np.array([row]))[0]
                ids, scores = index.search(rows[row], 3)
                assert len(set(ids.tolist())) == 3
                assert scores[0] == pytest.approx(1, abs=1e-5), "the vector itself"

    beside(write, *(lambda seed=seed: read(seed) for seed in range(3)))
    assert not index.is_exact
    assert len(index) == 6000


def test_what_is_replaced_and_removed_while_others_look_stays_so():
    rows, others = clustered(3000), clustered(3000, seed=9)
    index = GrowingIndex(32, exact_up_to=100)

    def write() -> None:
        for begin in range(0, 3000, 100):
            names = np.arange(begin, begin + 100)
            index.add(names, rows[names])
            index.add(names[::2], others[names[::2]])
            index.remove(names[::5])
            index.fit()

    def look() -> None:
        for _ in range(50):
            ids = index.search(rows[0], 3000)[0].tolist()
            assert len(ids) == len(set(ids))

    beside(write, look)
    left = [name for name in range(3000) if name % 100 % 5]
    assert sorted(index.search(rows[0], 3000)[0].tolist()) == left
    for name in left[::7]:
        row = others[name] if name % 2 == 0 else rows[name]
        assert index.search(row, 1, np.array([name]))[1].tolist() == pytest.approx([1], abs=1e-5)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_continues_with_a_copy():
    program = """
import os, sys, threading, warnings
import numpy as np
from crewgraph.storage.vectors.index import GrowingIndex
warnings.simplefilter("ignore", DeprecationWarning)  # forks of processes with threads
rows = np.random.default_rng(1).standard_normal((30_000, 32))
index = GrowingIndex(32, exact_up_to=500)
index.add(np.arange(1_000), rows[:1_000])
over = threading.Event()

def write():
    for begin in range(1_000, 30_000, 20):
        index.add(np.arange(begin, begin + 20), rows[begin:begin + 20])
        if over.is_set():
            break

def search():
    while not over.is_set():
        index.search(rows[3], 5)

threads = [threading.Thread(target=write), threading.Thread(target=search)]
for thread in threads:
    thread.start()
codes = []
for _ in range(12):
    child = os.fork()
    if not child:
        size = len(index)
        assert size % 20 == 0 and len(index.search(rows[0], size)[0]) == size
        index.add(np.arange(50_000, 51_000), rows[:1_000])
        index.remove(np.array([50_000]))
        assert index.search(rows[5], 1, np.array([50_005]))[0].tolist() == [50_005]
        assert len(index) == size + 999
        os._exit(0)
    codes.append(os.waitpid(child, 0)[1])
over.set()
for thread in threads:
    thread.join()
print(codes == [0] * 12, len(index) % 20)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=250, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True 0\n", "")
