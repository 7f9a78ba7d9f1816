import asyncio
import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).parents[2]


def _executed(folder: Path, monkeypatch: pytest.MonkeyPatch, *cells: str) -> Any:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "compat"), str(folder)]))
    notebook: Any = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = NotebookClient(notebook, timeout=250, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    asyncio.run(client.async_execute())  # `execute` leaves a loop open
    return ["".join(output.get("text", "") for output in cell["outputs"]) for cell in notebook["cells"]]


def test_a_notebook_says_crewai_below_the_extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    reported = _executed(
        tmp_path,
        monkeypatch,
        "%load_ext crewgraph",
        "from crewai import Agent, Crew, Task\n"
        "from crewgraph import ScriptedLLM\n"
        "agent = Agent(role='A', goal='G', backstory='B', llm=ScriptedLLM(['Final Answer: 42']))\n"
        "task = Task(description='What?', expected_output='A number', agent=agent)\n"
        "print(Crew(agents=[agent], tasks=[task]).kickoff())",
        "%unload_ext crewgraph\n"
        "try:\n    import crewai\nexcept ModuleNotFoundError as error:\n    print(error)\n"
        "import sys; print([name for name in sys.modules if name.partition('.')[0] == 'crewai'])",
    )
    assert reported[1] == "42\n"
    assert reported[2] == "No module named 'crewai'\n[]\n"


def test_a_notebook_that_has_imported_crewai_is_told_to_start_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "crewai").mkdir()
    (tmp_path / "crewai" / "__init__.py").write_text("")
    with pytest.raises(CellExecutionError, match="`crewai` is already imported"):
        _executed(tmp_path, monkeypatch, "import crewai", "%load_ext crewgraph")


def test_the_package_of_the_stand_in_is_an_extension_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    reported = _executed(
        tmp_path,
        monkeypatch,
        "%load_ext crewgraph_compat",
        "import crewai, crewgraph; print(crewai.Agent is crewgraph.Agent)",
    )
    assert reported[1] == "True\n"
