"""Executes the notebooks in a separate kernel, and writes their outputs into the files.

python -m docs.notebooks [NAME ...]     (make notebooks)
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import processes

from docs.pages import ROOT, environment

__all__ = ["NOTEBOOKS", "executed", "machine_paths", "shown"]

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

_EXECUTE = """
import sys
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
for cell in notebook.cells:
    if cell.cell_type == "code":
        cell.outputs, cell.execution_count = [], None
NotebookClient(
    notebook, timeout=250, kernel_name="python3", coalesce_streams=True, record_timing=False
).execute()
nbformat.write(notebook, sys.argv[2])
"""

_VARYING = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "ID"),
    (re.compile(r"\bid='[0-9a-f]{8,}'"), "id=ID"),
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "ADDRESS"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00| UTC)?"), "MOMENT"),
    (re.compile(r"[+-]?\b\d+ min \d\d s\b|[+-]?\b\d+(\.\d+)? m?s\b"), "TIME"),
    (re.compile(r", TIME(?=\))| \(TIME\)"), ""),  # a difference is told if it is large enough
    (re.compile(r"\s+"), " "),  # a table is as wide as its times
)
_MACHINE_PATH = re.compile(r"(?<![\w.:/])/(?:home|root|Users|tmp|var|work|usr|opt|private|mnt)/|\b[A-Z]:\\\\")


def executed(notebook: Path, folder: Path) -> dict[str, Any]:
    """The notebook with the outputs of an execution in this folder."""
    path = folder / "executed.ipynb"
    # Jupyter's own packages warn of each other: only ours is held to be without warnings, in the other tests.
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # Since 3.12, Python itself warns of IPython's `!`, which forks a kernel that has threads.
    warnings = f"default,ignore::DeprecationWarning:pty,{processes.KNOWN_WARNING}"
    own = {"PYTHONWARNINGS": warnings, "JUPYTER_PLATFORM_DIRS": "1", "HOME": str(folder), "PATH": programs}
    own["CREWGRAPH_PROGRESS"] = "0"  # shown after a second, which a busy machine may need
    done = processes.run(
        [sys.executable, "-c", _EXECUTE, str(notebook), str(path)],
        cwd=folder,
        env=environment(folder / "storage", **own),
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(path.read_text("utf-8"))
    stored = json.loads(notebook.read_text("utf-8"))
    return {**found, "metadata": stored["metadata"]}  # without the version of Python


def shown(notebook: dict[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """What each cell of code shows, by its id: pairs of a kind and a text, without what varies between two executions."""
    return {
        cell["id"]: [part for output in cell["outputs"] for part in _parts(output)]
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    }


def _parts(output: dict[str, Any]) -> list[tuple[str, str]]:
    if output["output_type"] == "error":
        return [("error", output["ename"])]
    data = {output.get("name", "stdout"): output["text"]} if output["output_type"] == "stream" else output["data"]
    return [(kind, _without_varying("".join(text))) for kind, text in sorted(data.items())]


def _without_varying(text: str) -> str:
    for pattern, name in _VARYING:
        text = pattern.sub(name, text)
    return text.strip()


def machine_paths(notebook: dict[str, Any]) -> list[str]:
    """The lines of outputs that hold a path of the machine that executed them."""
    lines = [
        line
        for cell in notebook["cells"]
        for output in cell.get("outputs", ())
        for text in (output.get("text", ""), *output.get("data", {}).values(), *output.get("traceback", ()))
        for line in "".join(text).splitlines()
    ]
    return [line for line in lines if _MACHINE_PATH.search(line) or str(ROOT) in line or str(Path.home()) in line]


def _write(notebook: Path) -> None:
    before = json.loads(notebook.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        after = executed(notebook, Path(folder))
    if shown(before) == shown(after) and not machine_paths(before):
        print(f"{notebook.name}: as it was")
        return
    notebook.write_text(json.dumps(after, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")
    print(f"{notebook.name}: written")


if __name__ == "__main__":
    for path in NOTEBOOKS:
        if not sys.argv[1:] or path.stem in sys.argv[1:]:
            _write(path)
