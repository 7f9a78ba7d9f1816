"""Several processes on one file, forks, threads, and writers that are killed."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import processes
import pytest

from crewgraph.storage.store import FaissStore
from storage.store.bag_of_words import Bag

ROOT = Path(__file__).parents[3]
START = """
import sys
from crewgraph.storage.store import FaissStore
from storage.store.bag_of_words import Bag
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
def opened():
    return FaissStore(path, index={"embed": Bag(), "fields": ["text"]})
"""


def started(code: str, path: Path, name: str, count: int) -> "subprocess.Popen[str]":
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests"), *sys.path])}
    command = [sys.executable, "-c", START + code, str(path), name, str(count)]
    return processes.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def opened(path: Path, **options: Any) -> FaissStore:
    return FaissStore(path, index={"embed": Bag(), "fields": ["text"]}, **options)


def sound(path: Path) -> None:
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


WRITER = """
with opened() as store:
    for n in range(count):
        store.put(("n", name), str(n % 40), {"text": f"tea {n}", "n": n})
        if n % 3 == 0:
            store.delete(("n", name), str((n + 7) % 40))
        found = store.search(("n", name), query=f"tea {n}", limit=1)
        assert found[0].value["n"] == n, (n, found)
        store.search((), query="tea", limit=5)
print("done")
"""


@pytest.mark.parametrize("names", ["ab", "abcd"])
def test_processes_write_and_search_one_new_file_at_once(tmp_path: Path, names: str):
    path = tmp_path / "s.db"
    writers = [started(WRITER, path, name, 150) for name in names]
    assert [writer.communicate(timeout=250)[0] for writer in writers] == ["done\n"] * len(names)
    sound(path)
    with opened(path) as store:
        for name in names:
            last: dict[str, int] = {}
            for n in range(150):
                last[str(n % 40)] = n
                if n % 3 == 0:
                    last.pop(str((n + 7) % 40), None)
            items = store.search(("n", name), limit=1000)
            assert {item.key: item.value["n"] for item in items} == last
            nearest = store.search(("n", name), query="tea", limit=1000)
            assert {item.key for item in nearest} == set(last)


def test_a_search_finds_what_another_process_has_just_written_replaced_and_removed(tmp_path: Path):
    path = tmp_path / "s.db"
    other_code = """
with opened() as store:
    for line in sys.stdin:
        key, _, text = line.strip().partition(" ")
        store.put(("n",), key, {"text": text}) if text else store.delete(("n",), key)
        print("ok", flush=True)
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests"), *sys.path])}
    command = [sys.executable, "-c", START + other_code, str(path), "", "0"]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    with opened(path) as store, processes.Popen(command, env=environment, **pipes) as other:

        def tell(line: str) -> None:
            assert other.stdin and other.stdout
            other.stdin.write(f"{line}\n")
            other.stdin.flush()
            assert other.stdout.readline() == "ok\n"

        tell("a tea")
        assert [item.key for item in store.search(("n",), query="tea")] == ["a"]
        store.put(("n",), "b", {"text": "tea 7"})
        tell("a milk")
        assert [item.key for item in store.search(("n",), query="tea")] == ["b", "a"]
        tell("b")
        assert [item.key for item in store.search(("n",), query="tea")] == ["a"]
        tell("c tea 7")
        store.delete(("n",), "a")
        assert [item.key for item in store.search(("n",), query="tea")] == ["c"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_opens_the_store_anew(tmp_path: Path):
    path = tmp_path / "s.db"
    with opened(path) as store:
        store.put(("n",), "parent", {"text": "tea"})
        store.search(("n",), query="tea")
        child = os.fork()
        if not child:
            code = 1
            try:
                store.put(("n",), "child", {"text": "tea 1"})
                keys = [item.key for item in store.search(("n",), query="tea 1")]
                code = 0 if keys == ["child", "parent"] else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert [item.key for item in store.search(("n",), query="tea 1")] == ["child", "parent"]
        store.put(("n",), "later", {"text": "tea 2"})
    sound(path)


@pytest.mark.parametrize("path", ["s.db", ":memory:"])
def test_threads_share_a_store(tmp_path: Path, path: str):
    with opened(tmp_path / path if path != ":memory:" else Path(path)) as store:

        def work(name: int) -> bool:
            for n in range(60):
                store.put(("n", str(name)), str(n), {"text": f"tea {name * 100 + n}"})
                best = store.search(("n",), query=f"tea {name * 100 + n}", limit=1)[0]
                if best.key != str(n) or best.namespace != ("n", str(name)):
                    return False
                if n % 5 == 0:
                    store.delete(("n", str(name)), str(n))
            return True

        with ThreadPoolExecutor(6) as pool:
            assert all(pool.map(work, range(6)))
        assert len(store.search((), limit=1000)) == 6 * 48
        assert len(store.search((), query="tea", limit=1000)) == 6 * 48


def test_any_number_of_batches_on_an_event_loop_share_few_threads(tmp_path: Path):
    async def put(store: FaissStore, number: int) -> int:
        await store.aput(("n",), str(number), {"text": "tea"})
        return threading.active_count()

    async def peak(store: FaissStore) -> int:
        before = threading.active_count()
        return max(await asyncio.gather(*(put(store, number) for number in range(200)))) - before

    with opened(tmp_path / "store.db") as store:
        assert asyncio.run(peak(store)) <= 10


def test_writers_that_are_killed_lose_nothing_that_was_acknowledged():
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests"), *sys.path])}
    command = [sys.executable, "-m", "storage.store.kills", "30", "7"]
    done = processes.run(command, env=environment, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| killed | 30 |" in done.stdout
