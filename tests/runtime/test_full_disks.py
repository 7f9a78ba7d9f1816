"""Files on a full disk, or cut off in the middle: each holds what it held, or all that is new, and the run tells."""

import json
import logging
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from disks import fill, small_disk
from modes import Mode
from typer.testing import CliRunner

from crewgraph import ScriptedLLM
from crewgraph.cli.app import app
from crewgraph.observe.logfile import add_entry

from .parts import agent, crew, task

OLD = "what it held"
DESK = """
from crewgraph import Agent, Crew, Task

clerk = Agent(role="Clerk", goal="Sort", backstory="Careful.", llm="openai/gpt-4o")
desk = Crew(agents=[clerk], tasks=[Task(description="Sort.", expected_output="A word", agent=clerk)])
"""
LONG = "Final Answer: " + "long " * 20_000


def reported(file: Path) -> None:
    made = crew(task("report", agent(ScriptedLLM([LONG])), output_file=file.name))
    with chdir(file.parent):
        made.kickoff(checkpointer=False)


def plotted(file: Path) -> None:
    worker = agent(ScriptedLLM([]))
    crew(*(task(f"t{number}", worker, description="d" * 500) for number in range(99))).plot(file)


def ejected(file: Path) -> None:
    program = file.parent.with_name("desk.py")
    program.write_text(DESK, "utf-8")
    made = CliRunner().invoke(app, ["eject", f"{program}:desk", "--output", str(file), "--import"])
    if made.exit_code:
        raise OSError(made.output)


WRITERS: list[Callable[[Path], None]] = [reported, plotted, ejected]


def test_a_file_on_a_full_disk_keeps_what_it_held(tmp_path: Path):
    with small_disk(tmp_path / "disk", 256) as disk:
        file = disk / "file.html"
        for write in WRITERS:
            file.write_text(OLD, "utf-8")
            filler = fill(disk)
            with pytest.raises(
                Exception, match=f"{file.name}.*No space left on device|No space left on device.*{file.name}"
            ):
                write(file)
            assert file.read_text("utf-8") == OLD, write
            assert sorted(disk.iterdir()) == [file, filler], write
            filler.unlink()
            write(file)
            assert OLD.encode() not in file.read_bytes(), write


@pytest.mark.parametrize("name", ["log.json", "log.txt"])
def test_a_log_on_a_full_disk_stays_whole_and_later_runs_write_to_it(
    name: str, mode: Mode, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    def run(answer: str) -> None:
        made = crew(task("say", agent(ScriptedLLM([answer]))), output_log_file=str(file))
        assert mode.kickoff(made, checkpointer=False).raw == answer

    def entries() -> list[Any]:
        text = file.read_text("utf-8")
        return json.loads(text) if name.endswith(".json") else text.splitlines()

    with small_disk(tmp_path / "disk", 64) as disk:
        file = disk / name
        run("first")
        before, filler = file.read_bytes(), fill(disk)
        with caplog.at_level(logging.WARNING, logger="crewgraph"):
            run("x" * 9_000)
        assert [record.message.partition(" the run")[0] for record in caplog.records] == [
            f"Could not write to the log file `{file}`;"
        ]
        assert file.read_bytes().startswith(before.rstrip(b"\n]"))
        assert len(entries()) == 3  # there was room for the start of the second run in the last block
        filler.unlink()
        run("third")
        assert len(entries()) == 5


def test_a_log_that_was_cut_off_anywhere_keeps_its_complete_entries_and_is_written_to_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    file = tmp_path / "log.json"
    for number in range(2):
        add_entry(file, {"timestamp": "t", "number": number, "output": 'ü "}]\n'})
    whole = file.read_bytes()
    for length in (*range(len(whole)), *(len(whole) + zeros for zeros in (1, 512))):
        file.write_bytes(whole[:length].ljust(length, b"\0"))
        add_entry(file, {"timestamp": "t", "number": "new"})
        numbers = [entry["number"] for entry in json.loads(file.read_bytes())]
        assert numbers == [*range(len(numbers) - 1), "new"], length
        assert len(numbers) - 1 == whole[:length].count(b"\n    }"), length
        for copy in tmp_path.glob("log.json.*"):
            assert copy.read_bytes() == whole[:length].ljust(length, b"\0")
            copy.unlink()
    assert "was damaged, as by a full disk or a crash: its 2 complete entries stay, and" in caplog.records[-1].message
