"""The progress of long work: one line at a terminal, nothing anywhere else."""

import io
import os
import subprocess
import sys
import time

import processes
import pytest
from waiting import wait_until

from crewgraph.observe.progress import ProgressLine, progress, without_progress


def test_quick_work_shows_nothing():
    stream = io.StringIO()
    with ProgressLine("Reading", 3, "files", stream) as shown:
        shown.advance()
    assert stream.getvalue() == ""


def test_long_work_shows_one_line_that_is_removed_at_the_end():
    stream = io.StringIO()
    with ProgressLine("Reading", 1200, "files", stream, delay=0.0) as shown:
        wait_until(lambda: "0 of 1,200 files" in stream.getvalue())
        shown.advance()
        wait_until(lambda: "Reading: 1 of 1,200 files, 0 s" in stream.getvalue())
    assert stream.getvalue().endswith("\r\x1b[K") and "\n" not in stream.getvalue()


def test_a_title_cannot_play_tricks_on_the_terminal():
    assert "\x1b]" in ProgressLine("\x1b]0;x", 2, "files").line
    stream = io.StringIO()
    with ProgressLine("\x1b]0;x", 2, "files", stream, delay=0.0):
        wait_until(lambda: "files" in stream.getvalue())
    assert "\x1b]" not in stream.getvalue()


def test_a_question_is_asked_without_the_line():
    stream = io.StringIO()
    with ProgressLine("Runs", 2, "runs", stream, delay=0.0):
        wait_until(lambda: "Runs" in stream.getvalue())
        with without_progress():
            before = stream.getvalue()
            assert before.endswith("\r\x1b[K")
            time.sleep(0.3)
            assert stream.getvalue() == before
        wait_until(lambda: stream.getvalue() != before)


def test_an_object_that_only_has_write_is_no_terminal(monkeypatch: pytest.MonkeyPatch):
    class Page:
        def write(self, text: str) -> None:
            raise AssertionError(text)

    monkeypatch.setattr(sys, "stderr", Page())
    with progress("Runs", 9, "runs") as shown:
        shown.advance()


PROGRAM = """
import time
from crewgraph import Agent, Crew, ScriptedLLM, Task

def reply(messages):
    time.sleep(0.6)
    return "Final Answer: done"

clerk = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(reply))
crew = Crew(name="desk", agents=[clerk], tasks=[Task(description="d", expected_output="e", agent=clerk)])
print(len(crew.kickoff_for_each([{}, {}, {}], checkpointer=False)))
"""


def played(**variables: str) -> tuple[str, str]:
    """What a program prints, and what it writes to the terminal that is its standard error."""
    import pty

    ours, theirs = pty.openpty()
    environment = {**os.environ, **variables}
    with processes.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=theirs, text=True, env=environment
    ) as process:
        os.close(theirs)
        printed = process.communicate(timeout=250)[0]
    written = b""
    try:
        while piece := os.read(ours, 65536):
            written += piece
    except OSError:  # a terminal whose other end is closed
        pass
    os.close(ours)
    return printed, written.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_runs_of_a_crew_are_counted_at_a_terminal():
    printed, written = played()
    assert printed == "3\n" and "Crew desk: 1 of 3 runs, 1 s" in written and written.endswith("\r\x1b[K")
    assert played(CREWGRAPH_PROGRESS="0") == ("3\n", "")
