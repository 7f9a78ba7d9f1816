"""A crew in a notebook: a cell runs inside an event loop."""

import asyncio
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import processes
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


LIVE = [
    """
from crewgraph import Agent, ConditionalTask, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.tools import tool

@tool
def look(i: int) -> str:
    "Look at something."
    return f"saw {i}"

def crew(*script, delay=0.0, **fields):
    llm = ScriptedLLM(script or [ToolUse("look", {"i": 7}), "<b>found</b>", "a report"], delay=delay)
    worker = Agent(role="Scout of {place}", goal="g", backstory="b", llm=llm, tools=[look], max_retry_limit=0)
    names = ("explore", "report")
    tasks = [Task(name=name, description="d", expected_output="e", agent=worker) for name in names]
    check = ConditionalTask(lambda _: False, name="check", description="d", expected_output="e", agent=worker)
    return Crew(name="patrol", agents=[worker], tasks=[tasks[0], check, tasks[1]], **fields)
""",
    "_ = crew(live_view=True, delay=0.3).kickoff({'place': 'Brest'})",
    "_ = await crew(live_view=True, delay=0.3).akickoff({'place': 'Brest'})",
    "_ = crew(verbose=True).kickoff({'place': 'Brest'})",
    "_ = crew(verbose=True, live_view=False).kickoff({'place': 'Brest'})",
    "_ = crew().kickoff({'place': 'Brest'})",
    """
again = crew("found", TimeoutError("no answer"), "a report", live_view=True)
try:
    again.kickoff({'place': 'Brest'}, thread_id="live")
except TimeoutError:
    _ = again.resume("live")
""",
    "_ = crew(*['found', 'a report'] * 2, live_view=True, delay=0.05).kickoff_for_each([{'place': 'Brest'}, {'place': 'Nice'}])",
    """
import threading
print([thread.name for thread in threading.enumerate() if "live-view" in thread.name])
""",
]


class Watcher(NotebookClient):
    """Keeps what a kernel shows, as it comes."""

    def process_message(self, msg: dict[str, Any], cell: Any, cell_index: int) -> Any:
        if msg["msg_type"] in ("display_data", "update_display_data"):
            self.shown = [*getattr(self, "shown", []), (cell_index, msg["msg_type"], msg["content"]["data"])]
        return super().process_message(msg, cell, cell_index)


def test_a_crew_is_shown_in_one_output_that_is_updated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in LIVE])
    client = Watcher(
        notebook,
        timeout=60,
        kernel_name="python3",
        coalesce_streams=True,
        resources={"metadata": {"path": str(tmp_path)}},
    )
    asyncio.run(client.async_execute())  # `execute` leaves a loop open
    _, kicked, awaited, verbose, off, quiet, resumed, each, threads = notebook.cells
    for number, cell in enumerate((kicked, awaited), 1):
        (output,) = cell.outputs
        assert output.output_type == "display_data"
        shown = [data["text/plain"] for index, _, data in client.shown if index == number]
        kinds = [kind for index, kind, _ in client.shown if index == number]
        assert kinds == ["display_data", *["update_display_data"] * (len(kinds) - 1)]
        assert 3 <= len(shown) <= 10  # three requests of 0.3 s, five updates a second at most
        assert [line.split()[:6] for line in shown[0].splitlines()[2:]] == [
            [name, "Scout", "of", "Brest", "·", "not"] for name in ("explore", "check", "report")
        ]
        assert any("▸ working  asks scripted" in text for text in shown)
        assert [line.split("  ")[0].split()[0] for line in shown[-1].splitlines()[2:]] == ["explore", "check", "report"]
        assert [re.findall("✓ done|– skipped", line) for line in shown[-1].splitlines()[2:]] == [
            ["✓ done"],
            ["– skipped"],
            ["✓ done"],
        ]
        assert re.match(r"Crew patrol: done, 3 of 3 tasks done, ", shown[-1])
        html = output.data["text/html"]
        assert "<table" in html and "<script" not in html
    assert [output.output_type for output in verbose.outputs] == ["display_data", "stream"]
    assert [output.output_type for output in off.outputs] == ["stream"]
    assert quiet.outputs == []
    failed, done = (output.data["text/plain"] for output in resumed.outputs)
    assert failed.startswith("Crew patrol: failed, 2 of 3 tasks done") and "TimeoutError: no answer" in failed
    assert done.startswith("Crew patrol: done, 3 of 3 tasks done") and "✓ done     before this run" in done
    assert ["of Brest" in each.outputs[0].data["text/plain"], "of Nice" in each.outputs[1].data["text/plain"]] == [
        True,
        True,
    ]
    assert threads.outputs[0]["text"] == "[]\n"


def test_a_live_view_needs_no_ipython(tmp_path: Path):
    program = LIVE[0] + (
        "import sys\ncrew(live_view=True).kickoff({'place': 'Brest'}, checkpointer=False)\nprint('IPython' in sys.modules)"
    )
    done = processes.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_a_crew_runs_in_a_cell_with_and_without_await(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    client = NotebookClient(
        notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    asyncio.run(client.async_execute())  # `execute` leaves a loop open
    printed = [output["text"] for cell in notebook.cells for output in cell.outputs if output.output_type == "stream"]
    assert printed == ["done\n", "done\n", "done\n"]
