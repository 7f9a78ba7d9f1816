"""A crew in a notebook: a cell runs inside an event loop."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]

CELLS = [
    """
import asyncio
from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.tools import tool

@tool
async def look(i: int) -> str:
    "Look at something."
    await asyncio.sleep(0.001)
    return f"saw {i}"

def crew():
    worker = Agent(role="r", goal="g", backstory="b", llm=ScriptedLLM([ToolUse("look", {"i": 7}), "done"]), tools=[look])
    return Crew(agents=[worker], tasks=[Task(description="d", expected_output="e", agent=worker)])
""",
    "print(crew().kickoff().raw)",
    "print((await crew().akickoff()).raw)",
    "print(crew().compile().invoke({'inputs': {}})['d']['raw'])",
]


def test_a_crew_runs_in_a_cell_with_and_without_await(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(
        notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    printed = [output["text"] for cell in notebook.cells for output in cell.outputs if output.output_type == "stream"]
    assert printed == ["done\n", "done\n", "done\n"]
