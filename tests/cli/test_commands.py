import os
import re
import sqlite3
from pathlib import Path

from cli.conftest import Python
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint

import crewgraph
from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

CREWGRAPH = ("-m", "crewgraph")


def test_the_version_is_reported(python: Python):
    assert python(*CREWGRAPH, "--version").stdout == f"crewgraph {crewgraph.__version__}\n"


def test_without_arguments_the_help_is_shown(python: Python):
    done = python(*CREWGRAPH)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == python(*CREWGRAPH, "--help").stdout
    for word in ("run", "where", "--version", "Usage: python -m crewgraph"):
        assert word in done.stdout


def test_the_help_of_run_shows_how_it_is_used(python: Python):
    done = python(*CREWGRAPH, "run", "--help")
    assert done.returncode == 0
    assert re.search(r"run \[OPTIONS\] \[PROGRAM\] \[ARGS\]\.\.\.", done.stdout, re.IGNORECASE)
    assert "`import crewai` imports crewgraph" in done.stdout and "-m" in done.stdout


def test_the_compat_module_shows_its_usage(python: Python):
    done = python("-m", "crewgraph_compat")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: python -m crewgraph_compat script.py [args...]\n")


def test_an_unknown_command_or_option_is_refused(python: Python):
    for arguments in (["walk"], ["--nothing"], ["run", "-m"], ["where", "--nothing"], ["where", "there"]):
        done = python(*CREWGRAPH, *arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert "Usage:" in done.stderr and "Traceback" not in done.stderr
    assert "walk" in python(*CREWGRAPH, "walk").stderr


def test_a_command_that_only_crewai_has_is_answered_with_what_to_do_instead(python: Python):
    reported = {
        ("flow", "kickoff"): "There is no command `flow`: use `crewgraph run` for `flow kickoff`",
        ("install",): "There is no command `install`: install the project with `pip install -e .`.",
        ("deploy", "push"): "There is no command `deploy`: CrewAI's hosted platform can only be used with CrewAI.",
    }
    for arguments, text in reported.items():
        done = python(*CREWGRAPH, *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"Error: {text}"), arguments


MISSING = {
    (
        "create",
    ): "`kind` is missing: what to create: a crew, or a flow with a crew. Example: `crewgraph create crew my_crew`",
    (
        "resume",
    ): "`thread` is missing: the thread id of the run, as `crewgraph runs` lists it. Example: `crewgraph resume brest-1`",
    ("diff", "a"): "`b` is missing: the thread id of the second run. Example: `crewgraph diff brest-1 brest-2`",
    ("replay",): "`--task_id` is missing: the first task to run again: its id, key, name or number. "
    "Example: `crewgraph replay --task_id write`",
}


def test_a_missing_argument_is_named_in_one_line_with_an_example(python: Python):
    for arguments, message in MISSING.items():
        done = python(*CREWGRAPH, *arguments)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"Error: {message}\n"), arguments


WRONG = {
    ("create", "crow", "birds"): "Invalid value for 'kind': 'crow' is not one of 'crew', 'flow'. Did you mean `crew`?",
    ("runs", "--status", "lost"): "Invalid value for '--status': 'lost' is not one of "
    "'working', 'waiting', 'failed', 'abandoned', 'done', 'open'.",
    ("runs", "--limit", "few"): "Invalid value for '--limit': 'few' is not a whole number.",
    ("runs", "--limit", "2.5"): "Invalid value for '--limit': '2.5' is not a whole number.",
    ("runs", "--limit", "0"): "Invalid value for '--limit': it must be 1 or more, not 0.",
    ("serve", "--port", "99999"): "Invalid value for '--port': it must be 65535 or less, not 99999.",
    ("serve", "--grace", "long"): "Invalid value for '--grace': 'long' is not a number.",
}


def test_a_wrong_argument_is_reported_in_plain_words(python: Python):
    for arguments, message in WRONG.items():
        done = python(*CREWGRAPH, *arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert done.stderr.splitlines()[-1] == f"Error: {message}", arguments


def test_an_error_in_the_users_code_is_shown_with_its_frames_only(python: Python, tmp_path: Path):
    (tmp_path / "team.py").write_text("""\
from crewgraph import Agent, Crew

def crew():
    return Crew(agents=[Agent(role="Clerk", goal="g", backstory="b", max_iter="many")], tasks=[])
""")
    ran = python("-m", "crewgraph", "test", "--target", "team.py:crew")
    assert ran.returncode == 1
    first, *lines = ran.stderr.splitlines()
    assert first == "Traceback (most recent call last):"
    assert [line for line in lines if line.startswith("  File ")] == [f'  File "{tmp_path}/team.py", line 4, in crew']
    assert "max_iter" in ran.stderr


def test_check_and_migrate_work_on_this_directory_without_a_path(python: Python, tmp_path: Path):
    (tmp_path / "team.py").write_text("from crewai import Agent\n")
    assert "1 CrewAI feature in 1 file" in python(*CREWGRAPH, "check").stdout
    assert "+from crewgraph import Agent" in python(*CREWGRAPH, "migrate").stdout


def test_where_shows_a_database_that_is_not_there_and_does_not_create_it(python: Python, storage: Path):
    done = python(*CREWGRAPH, "where")
    assert done.stdout.splitlines() == [
        f"database  {storage / 'checkpoints.db'}",
        "          does not exist yet; it is created when the first run is stored",
    ]
    assert list(storage.iterdir()) == []


def test_where_shows_the_threads_that_are_stored(python: Python, storage: Path):
    with SqliteCheckpointer(storage / "checkpoints.db") as saver:
        for thread, ns in (("a", ""), ("a", "inner"), ("b", "")):
            config: RunnableConfig = {"configurable": {"thread_id": thread, "checkpoint_ns": ns}}
            saver.put(config, empty_checkpoint(), {}, {})
        # While it is open, most of it is in the file beside the database.
        fields = dict(line.split(maxsplit=1) for line in python(*CREWGRAPH, "where").stdout.splitlines())
    assert fields["threads"] == "2"
    number, unit = fields["size"].split()
    assert unit == "kB" and float(number) > os.path.getsize(storage / "checkpoints.db") / 1000


def test_where_refuses_a_database_of_another_program(python: Python, storage: Path):
    with sqlite3.connect(storage / "checkpoints.db") as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    done = python(*CREWGRAPH, "where")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: The file `") and "another program" in done.stderr
