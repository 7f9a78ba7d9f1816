"""The notebooks run from their first cell to their last in a kernel of their own, and hold the outputs that they give."""

import json
import re
from pathlib import Path

import pytest

from docs.notebooks import NOTEBOOKS, executed, machine_paths, shown
from docs.pages import ROOT


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_holds_the_outputs_that_it_gives(notebook: Path, tmp_path: Path):
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    stored, given = shown(json.loads(notebook.read_text("utf-8"))), shown(executed(notebook, tmp_path))
    assert list(given) == list(stored)
    differing = {
        name: {"kept": stored[name], "given": outputs} for name, outputs in given.items() if outputs != stored[name]
    }
    assert not differing, (
        f"`make notebooks` writes the outputs anew: {json.dumps(differing, indent=1, ensure_ascii=False)}"
    )


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_holds_no_errors_no_warnings_and_no_path_of_a_machine(notebook: Path):
    content = json.loads(notebook.read_text("utf-8"))
    outputs = [output for cell in content["cells"] for output in cell.get("outputs", ())]
    assert outputs
    assert machine_paths(content) == []
    assert [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"] == []
    counts = [cell["execution_count"] for cell in content["cells"] if cell["cell_type"] == "code"]
    assert counts == list(range(1, len(counts) + 1))


def test_notebooks_are_linked_from_the_readme_and_lead_to_pages_that_are_there():
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [path.name for path in NOTEBOOKS if f"notebooks/{path.name}" not in readme] == []
    links = [
        (notebook.name, target)
        for notebook in NOTEBOOKS
        for cell in json.loads(notebook.read_text("utf-8"))["cells"]
        if cell["cell_type"] == "markdown"
        for target in re.findall(r"\]\(([^)#]+\.(?:md|ipynb))", "".join(cell["source"]))
    ]
    assert len(links) > 5
    assert [(name, target) for name, target in links if not (ROOT / "notebooks" / target).is_file()] == []
