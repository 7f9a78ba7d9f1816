"""The notebook runs from its first cell to its last in a kernel of its own, and is kept without outputs."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from docs.pages import ROOT, environment

NOTEBOOK = ROOT / "notebooks" / "first_crew.ipynb"

EXECUTE = """
import sys, warnings
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=90, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


def cells(path: Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]


def printed(path: Path) -> list[str]:
    return ["".join("".join(out.get("text", ())) for out in cell["outputs"]) for cell in cells(path)]


def test_the_notebook_is_kept_without_outputs():
    assert [(cell["outputs"], cell["execution_count"]) for cell in cells(NOTEBOOK)] == [([], None)] * len(
        cells(NOTEBOOK)
    )


def test_the_notebook_runs(tmp_path: Path):
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    played = tmp_path / "played.ipynb"
    # Jupyter's own packages warn of each other: only ours is held to be without warnings, in the other tests.
    own = environment(tmp_path / "storage", PYTHONWARNINGS="default", JUPYTER_PLATFORM_DIRS="1", HOME=str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", EXECUTE, str(NOTEBOOK), str(played)],
        cwd=tmp_path,
        env=own,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    crew, graph, steps, run, arun, items, stream, history, fork, resumed = printed(played)
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
