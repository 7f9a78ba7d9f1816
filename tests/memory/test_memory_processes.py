"""Memories of several processes and threads on one file."""

import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import processes
import pytest

from crewgraph import Memory


def started(folder: Path, program: str) -> subprocess.Popen[str]:
    return processes.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "FOLDER": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_another_process_recalls_what_was_remembered(tmp_path: Path):
    memory = Memory(storage=tmp_path)
    memory.remember("The ferry leaves at nine", scope="/ports")
    program = """
        import os
        from crewgraph import Memory
        memory = Memory(storage=os.environ["FOLDER"])
        print(memory.recall("When does the ferry leave?")[0].record.content)
        memory.remember("Mussels grow on the pier")
    """
    process = started(tmp_path, program)
    stdout, _ = process.communicate(timeout=250)
    assert process.returncode == 0 and stdout == "The ferry leaves at nine\n"
    assert memory.recall("mussels", limit=1)[0].record.content == "Mussels grow on the pier"


def test_what_was_acknowledged_is_there_after_a_kill(tmp_path: Path):
    program = """
        import os, itertools
        from crewgraph import Memory
        memory = Memory(storage=os.environ["FOLDER"])
        for number in itertools.count():
            if number % 3:
                memory.remember(f"number {number}", scope=f"/{number % 5}")
            else:
                memory.remember_many([f"number {number}"])
            print(number, flush=True)
    """
    process = started(tmp_path, program)
    assert process.stdout is not None
    last = -1
    for line in process.stdout:
        last = int(line)
        if last >= 40:
            process.send_signal(signal.SIGKILL)
            break
    last = max([last, *(int(line) for line in process.stdout.read().split())])
    process.wait()
    process.stdout.close()
    contents = {record.content for record in Memory(storage=tmp_path).list_records(limit=10_000)}
    assert {f"number {number}" for number in range(last + 1)} <= contents
    assert len(contents) <= last + 2


def test_two_processes_write_at_once(tmp_path: Path):
    program = """
        import os, sys
        from crewgraph import Memory
        memory = Memory(storage=os.environ["FOLDER"])
        for number in range(40):
            memory.remember(f"number {number % 30}", scope="/shared")
    """
    processes = [started(tmp_path, program) for _ in range(2)]
    for process in processes:
        process.communicate(timeout=250)
    assert [process.returncode for process in processes] == [0, 0]
    memory = Memory(storage=tmp_path)
    assert memory.info("/shared").record_count == 30
    assert memory.recall("number 7", limit=1)[0].record.content == "number 7"


@pytest.mark.parametrize("threads", [8])
def test_many_threads_use_one_memory(tmp_path: Path, threads: int):
    memory = Memory(storage=tmp_path)

    def work(number: int) -> int:
        memory.remember(f"of thread {number}", scope=f"/{number % 3}")
        return len(memory.recall(f"of thread {number}", limit=1))

    with ThreadPoolExecutor(threads) as pool:
        assert list(pool.map(work, range(60))) == [1] * 60
    assert memory.info().record_count == 60
