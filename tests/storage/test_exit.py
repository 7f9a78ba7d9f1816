"""Interpreter shutdown while threads still work: nothing is closed under them, and no saved data is lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from combinations import of

PROGRAM = """
import os, sys, threading, time
from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.storage.store import FaissStore

kind, pause = sys.argv[1], float(sys.argv[2])

def embed(texts):
    return [[float(len(text) % 7), 1.0, 2.0, float(hash(text) % 5)] for text in texts]

def crew():
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(lambda messages: "Final Answer: done"))
    memory = {"memory": True, "embedder": embed} if kind == "memory" else {}
    return Crew(agents=[clerk], tasks=[Task(description="d", expected_output="e", agent=clerk)] * 1, **memory)

def crews():
    made = crew()
    while True:
        made.kickoff()
        begun.set()

def store():
    store, number = FaissStore("store.db", index={"dims": 4, "embed": embed}), 0
    while True:
        number += 1
        store.put(("a",), str(number % 300), {"text": f"x{number}"})
        store.search(("a",), query=f"x{number}")
        begun.set()

begun = threading.Event()
for _ in range(3):
    threading.Thread(target=store if kind == "store" else crews, daemon=True).start()
begun.wait()
print("begun", flush=True)
time.sleep(pause)
"""


@pytest.mark.parametrize("kind", ["crew", "memory", "store"])
def test_a_process_ends_in_peace_while_daemon_threads_work(tmp_path: Path, kind: str):
    (tmp_path / "program.py").write_text(PROGRAM)
    env = {**os.environ, "CREWGRAPH_STORAGE_DIR": str(tmp_path)}
    ended = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "program.py", kind, str(number * 0.013)],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
        )
        for number in range(of(2, 30))
    ]
    assert {(process.returncode, process.stderr) for process in ended} == {(0, "")}


INDEXES = """
import sys, threading, time
import numpy as np
from crewgraph.storage.vectors.index import GrowingIndex

ids, rows = np.arange(3000), np.random.default_rng(0).random((3000, 64), dtype=np.float32)

def work():
    while True:
        index = GrowingIndex(64)
        index.add(ids, rows)
        index.search(rows[0], 5)

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(float(sys.argv[1]))
"""


def test_a_process_ends_in_peace_while_daemon_threads_make_indexes():
    for number in range(of(3, 30)):
        command = [sys.executable, "-c", INDEXES, str(0.01 * (number + 1))]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert (ended.returncode, ended.stderr) == (0, "")


AT_EXIT = """
import atexit, sys

def last():
    try:
        print(crew.kickoff().raw)
    except Exception as error:
        print(type(error).__name__, error)

if "before" in sys.argv:
    atexit.register(last)
from crewgraph import Agent, Crew, ScriptedLLM, Task
clerk = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(lambda messages: "Final Answer: done"))
crew = Crew(agents=[clerk], tasks=[Task(description="d", expected_output="e", agent=clerk)])
crew.kickoff()
if "after" in sys.argv:
    atexit.register(last)
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_exit_handlers_of_the_program_run_or_are_reported(tmp_path: Path, when: str):
    env = {**os.environ, "CREWGRAPH_STORAGE_DIR": str(tmp_path)}
    command = [sys.executable, "-W", "ignore", "-c", AT_EXIT, when]
    reported = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120).stdout
    if when == "after":
        assert reported == "done\n"
    else:
        assert reported.startswith("StorageError The checkpoint database")
        assert "is closed" in reported
