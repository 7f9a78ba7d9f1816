"""A Ctrl-C at any moment leaves no lock and no transaction behind, for which others would wait."""

import signal
import sys
from pathlib import Path

import processes
import pytest
from combinations import of

from crewgraph.core.loops.threads import uninterrupted

IN_ANOTHER_THREAD = """
import sys, threading

def write_in_another_thread():
    other = threading.Thread(target=write, daemon=True)
    other.start()
    other.join(60)
    if other.is_alive():
        sys.exit("a thread waits forever")
"""

OF_A_DATABASE = """
import random, signal, sqlite3, sys, threading
from crewgraph.storage.checkpoints.schema import CHECKPOINT_SCHEMA
from crewgraph.storage.database import Database, WouldBlock

def insert_and_delete(connection):
    connection.execute("INSERT INTO lineages (thread, ns, touched, created) VALUES ('t', '', 1, 1)")
    connection.execute("DELETE FROM lineages")

def write():
    database.write(insert_and_delete)

def write_on_an_event_loop():
    try:
        database.nonblocking(write)
    except WouldBlock:  # the log is being folded
        pass

def read():
    database.read(lambda connection: connection.execute("SELECT * FROM lineages").fetchall())

def interrupted(work):
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0002, 0.001))
        while True:
            work()
    except KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, 0)

work, times = globals()[sys.argv[1]], int(sys.argv[2])
signal.signal(signal.SIGALRM, signal.default_int_handler)
database = Database("runs.db", synchronous="NORMAL", timeout=0, schema=CHECKPOINT_SCHEMA)
beside = sqlite3.connect("runs.db", timeout=0, isolation_level=None)
for _ in range(times):
    interrupted(work)
    beside.execute("BEGIN IMMEDIATE")
    beside.execute("ROLLBACK")
    write_in_another_thread()
print("free")
"""


@pytest.mark.parametrize("work", ["write", "write_on_an_event_loop", "read"])
def test_a_ctrl_c_in_a_transaction_leaves_the_database_to_others(work: str, tmp_path: Path):
    (tmp_path / "program.py").write_text(IN_ANOTHER_THREAD + OF_A_DATABASE)
    command = [sys.executable, "program.py", work, str(of(150, 2_000))]
    ended = processes.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (ended.stdout, ended.stderr) == ("free\n", "")


OF_AN_INDEX = """
import os, random, signal, sys, threading, time
import numpy
from crewgraph.storage.vectors.index import GrowingIndex

def search():
    index.search(vectors[1], 3)

def write():
    index.add(seven, vectors[7:8])
    index.remove(seven)

def interrupt(after):
    time.sleep(after)
    os.kill(os.getpid(), signal.SIGINT)

work, times = globals()[sys.argv[1]], int(sys.argv[2])
vectors = numpy.random.default_rng(1).normal(size=(400, 8)).astype("float32")
index = GrowingIndex(8, exact_up_to=200)
index.add(numpy.arange(400), vectors)
index.fit()
seven = numpy.array([7])
for _ in range(times):
    interrupting = threading.Thread(target=interrupt, args=(random.uniform(0.0005, 0.004),))
    try:
        interrupting.start()
        while True:
            work()
    except KeyboardInterrupt:
        interrupting.join()
    write_in_another_thread()
print("free")
"""


@pytest.mark.parametrize("work", ["search", "write"])
def test_a_ctrl_c_in_an_index_leaves_it_to_others(work: str, tmp_path: Path):
    (tmp_path / "program.py").write_text(IN_ANOTHER_THREAD + OF_AN_INDEX)
    command = [sys.executable, "program.py", work, str(of(200, 5_000))]
    ended = processes.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (ended.stdout, ended.stderr) == ("free\n", "")


def test_a_ctrl_c_that_waited_is_handled_as_the_program_wishes():
    heard = list[int]()

    @uninterrupted
    def work() -> list[int]:
        signal.raise_signal(signal.SIGINT)
        return [*heard]

    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        assert (work(), heard) == ([], [signal.SIGINT])
    finally:
        signal.signal(signal.SIGINT, before)


OF_A_POOL = """
import random, signal, sys, time
from concurrent.futures import wait
from crewgraph.core.loops.threads import ThreadPool

signal.signal(signal.SIGALRM, signal.default_int_handler)
for _ in range(int(sys.argv[1])):
    pool = ThreadPool(None, "calls")
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0002, 0.002))
        while True:
            pool.submit(time.sleep, 0.001)
    except KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if wait(pool.unfinished(), 10).not_done:
        print("a call waits forever")
        break
print("ends")
"""


def test_a_ctrl_c_while_a_thread_starts_leaves_the_thread_at_work(tmp_path: Path):
    (tmp_path / "program.py").write_text(OF_A_POOL)
    command = [sys.executable, "program.py", str(of(500, 5_000))]
    ended = processes.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (ended.stdout, ended.stderr) == ("ends\n", "")
