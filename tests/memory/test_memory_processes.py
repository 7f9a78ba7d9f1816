"""Memories of several processes and threads on one file."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import processes

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
