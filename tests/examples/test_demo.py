"""The demonstration: it works on real files, and what it says is computed from them."""

import csv
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import processes
import pytest
from servers.openai_api import Answer, OpenAIServer, Request, call
from test_redaction import ORDINARY

from crewgraph.storage.checkpoints import SqliteCheckpointer

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "examples" / "demo.py"


def demo(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return processes.run(
        [sys.executable, *processes.STRICT, str(DEMO), *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200", **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )


def after(word: str, said: str) -> str:
    """What the demonstration printed behind a word at a line's beginning."""
    found = re.search(rf"^{word}: +(.*)$", said, re.MULTILINE)
    assert found is not None, said
    return found[1]


def test_the_bundled_table_is_measured_and_reported(tmp_path: Path):
    done = demo(folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    rows = list(csv.DictReader((ROOT / "examples" / "data" / "sales.csv").read_text("utf-8").splitlines()))
    units = sum(float(row["units"]) for row in rows)
    assert f"of {len(rows)} lines" in after("Report", done.stdout)
    assert f"units {units:g}" in after("Report", done.stdout)
    assert after("Refusals", done.stdout) == "1"
    assert "the embedded script" in after("Model", done.stdout)
    assert "facts --> report" in done.stdout
    assert "\x1b" not in done.stdout


def table(path: Path, seed: int) -> tuple[int, float]:
    """Write a random table; its number of rows, and the sum of its column."""
    chance = random.Random(seed)
    numbers = [chance.randrange(1, 1000) for _ in range(chance.randrange(5, 40))]
    path.write_text("town,ships\n" + "".join(f"t{n},{number}\n" for n, number in enumerate(numbers)))
    return len(numbers), float(sum(numbers))


def test_other_files_give_other_results_computed_from_them(tmp_path: Path):
    reports: list[str] = []
    for seed in (1, 2):
        path = tmp_path / f"{seed}.csv"
        rows, ships = table(path, seed)
        done = demo(str(path), folder=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        reports.append(after("Report", done.stdout))
        assert f"csv file of {rows} lines" in reports[-1]
        assert f"ships {ships:g}" in reports[-1]
    assert reports[0] != reports[1]


def test_a_text_is_measured_too(tmp_path: Path):
    words = random.Random(3).choices(["lighthouse", "harbour", "whale"], [8, 4, 2], k=60)
    (tmp_path / "text.txt").write_text("\n".join(words))
    done = demo("text.txt", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("lighthouse", "harbour", "whale"):
        assert f"{word} {words.count(word)}" in after("Report", done.stdout)


def test_a_file_that_is_not_there_is_reported(tmp_path: Path):
    done = demo("nowhere.csv", folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "There is no file 'nowhere.csv'. Use it like: make demo FILE=path/to/text-or-csv\n"


def test_a_real_endpoint_is_used_and_said_where_the_environment_names_one(tmp_path: Path):
    rows, ships = table(tmp_path / "ships.csv", 4)

    def answer(request: Request) -> str | Answer:
        messages = request.body["messages"]
        if "Measure the file" not in str(messages):
            return f"A table of {rows} lines, with ships {ships:g}."
        if messages[-1]["role"] == "tool":
            return request.last
        return call("measure_file", {"path": "ships.csv"})

    with OpenAIServer(answer, key="secret-key") as server:
        done = demo("ships.csv", folder=tmp_path, OPENAI_API_KEY="secret-key", OPENAI_BASE_URL=server.url)
        assert (done.returncode, done.stderr) == (0, "")
        assert after("Model", done.stdout) == f"gpt-4o-mini at {server.url}"
        assert after("Report", done.stdout) == f"A table of {rows} lines, with ships {ships:g}."
        assert len(server.requests) == 3
        assert "secret-key" not in done.stdout


def test_what_the_demonstration_kept_is_in_the_storage_folder_it_names(tmp_path: Path, storage: Path):
    done = demo(folder=tmp_path)
    assert after("Kept in", done.stdout) == str(storage / "checkpoints.db")
    assert (storage / "checkpoints.db").exists()
    assert re.fullmatch(r"[0-9a-f-]{36}", after("Thread", done.stdout).split()[0])


LOGGED = """
import logging
import sys
from examples import demo

logging.basicConfig(level=logging.INFO, filename="log", format="%(message)s")
crew = demo.crew_for(demo.model())
crew.output_log_file = "run.json"
print(crew.kickoff({"file": demo.FILE}, thread_id="t"))
"""


def everything_of(folder: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    """What the demonstration's crew prints, logs and stores in an environment, without times."""
    folder.mkdir()
    shutil.copy(ROOT / "examples" / "data" / "sales.csv", folder / "sales.csv")
    own = {"PYTHONPATH": str(ROOT), "CREWGRAPH_STORAGE_DIR": str(folder / "storage"), "LANGSMITH_TRACING": "false"}
    done = processes.run(
        [sys.executable, "-c", LOGGED, str(folder / "sales.csv")],
        env={**environment, **own, "COLUMNS": "200", "HOME": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=250,
        check=True,
    )
    with SqliteCheckpointer(folder / "storage" / "checkpoints.db") as saver:
        stored = [(saved.checkpoint["channel_values"], saved.pending_writes) for saved in saver.list(None)]
    entries = [{**entry, "timestamp": ""} for entry in json.loads((folder / "run.json").read_text("utf-8"))]
    everything: dict[str, Any] = {
        "printed": re.sub(r" \(\d+ ms\)|\(\d+ ms\)", "", done.stdout),
        "logged": [done.stderr, entries, (folder / "log").read_text("utf-8")],
        "stored": re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16,}|\d+", "", repr(stored)),  # ids and times
    }
    shutil.rmtree(folder)
    return everything


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_environment_of_a_login_changes_nothing_that_is_printed_logged_or_stored(tmp_path: Path):
    folder = tmp_path / "desk-1"
    shell = subprocess.run(
        ["bash", "-lic", "env -0"], cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    login = dict(line.split("=", 1) for line in shell.stdout.split("\0") if "=" in line)
    ours = [name for name in login if name.startswith(("PYTHON", "OPENAI", "LANG", "CREW"))]
    empty = everything_of(folder, {})
    assert f"Measure the file {folder}/sales.csv with your tool." in empty["printed"]
    assert f"Measure the file {folder}/sales.csv with your tool." in str(empty["logged"][1])
    for environment in (login, {**login, **ORDINARY}):
        kept = {name: value for name, value in environment.items() if name not in ours and name != "OPENAI_API_KEY"}
        assert everything_of(folder, {**kept, "PWD": str(folder), "OLDPWD": str(tmp_path)}) == empty
