"""The notebooks run from their first cell to their last in a kernel of their own, and are kept without outputs."""

import json
import sys
from pathlib import Path
from typing import Any

import processes
import pytest

from docs.pages import ROOT, environment

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

EXECUTE = """
import sys, warnings
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=250, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


def cells(path: Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]


def printed(path: Path) -> list[str]:
    return ["".join("".join(out.get("text", ())) for out in cell["outputs"]) for cell in cells(path)]


def played(name: str, folder: Path) -> Path:
    """The notebook of a name, with its outputs."""
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    path = folder / "played.ipynb"
    # Jupyter's own packages warn of each other: only ours is held to be without warnings, in the other tests.
    own = environment(folder / "storage", PYTHONWARNINGS="default", JUPYTER_PLATFORM_DIRS="1", HOME=str(folder))
    done = processes.run(
        [sys.executable, "-c", EXECUTE, str(ROOT / "notebooks" / name), str(path)],
        cwd=folder,
        env=own,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return path


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(notebook: Path):
    assert {(str(cell["outputs"]), cell["execution_count"]) for cell in cells(notebook)} == {("[]", None)}


def test_every_notebook_is_run_by_a_test():
    assert [path.stem for path in NOTEBOOKS] == ["first_crew", "flows", "memory"]


def test_the_notebook_of_a_first_crew_runs(tmp_path: Path):
    path = played("first_crew.ipynb", tmp_path)
    crew, graph, steps, run, arun, items, stream, history, fork, resumed = printed(path)
    assert crew == ""
    assert "height --> text;" in graph
    assert run == "In Brest the sea rises 7.1 metres.\n3 requests, 1 tool call\n"
    assert arun == "Pilot says 7.1 m\n"
    assert "height\\3atools -.-> height\\3amodel;" in steps
    assert items.split()[:3] == ["started", "task_started", "model_started"] and items.split()[-1] == "finished"
    assert stream.startswith("Final| Answer:| In| Brest|")
    assert history.splitlines() == [
        "2 ['height', 'inputs', 'text'] next:",
        "1 ['height', 'inputs'] next: text",
        "0 ['inputs'] next: height",
        "-1 [] next: __start__",
    ]
    assert fork == "True\n"
    assert resumed == "In Brest the sea rises 7.1 metres.\n"


def test_the_notebook_of_flows_runs(tmp_path: Path):
    path = played("flows.ipynb", tmp_path)
    crew, flow, drawing, run, answer, arun, history, fork, graph, drawn = printed(path)
    assert crew + flow + drawing + drawn == ""
    assert run == "cast_off asks: Cast off? ('yes', 'no')\nday 2: 6 knots, tide 7.1 m\n"
    assert answer == "under way on day 2: 6 knots, tide 7.1 m\n2 requests so far\n"
    assert arun == "day 1: 6 knots, tide 7.1 m\nin port: no\n"
    steps = [line.split()[1] for line in history.splitlines()]
    # Methods that end together are one step, which names the last of them.
    assert [step for step in steps if step not in ("tide", "weather")] == ["None", "judge", "judge", "cast_off", "sail"]
    assert steps[0] == "None" and steps[-2:] == ["cast_off", "sail"]
    assert fork == "day 5: 4 knots, tide 7.1 m\nin port: no\n"
    assert graph == "Cast off?\nunder way on day 1: 6 knots, tide 7.1 m\n"
    shown = [output["data"] for cell in cells(path) for output in cell["outputs"] if "data" in output]
    assert ["<svg" in "".join(data["text/html"]) for data in shown] == [True, True]


def test_the_notebook_of_memory_runs(tmp_path: Path):
    first, prompt, kinds, memory, graph = printed(played("memory.ipynb", tmp_path))
    assert first == "Ann Leroy sees to the tide gauge every March.\n"
    told = [
        "name the month",
        "Ann Leroy sees to the tide gauge every March.",
        "Ann Leroy(person): sees to the tide gauge",
    ]
    assert [line.removeprefix("- ") for line in prompt.splitlines() if line.startswith("- ")] == told
    assert "\nThe tide gauge of the harbour is seen to by Ann Leroy, every March.\n" in prompt
    assert kinds.splitlines() == [
        "['Ann Leroy(person): sees to the tide gauge']",
        "[['name the month']]",
        "['The crane lifts forty tons.']",
        "[]",
    ]
    assert memory.splitlines()[:2] == ["['The crane is repaired on Tuesdays.']", "/ (2 records)"]
    assert graph == "['Bo drives the crane.', 'A crane of forty tons stands at the quay.']\n"
