"""`crewgraph check`: what a project uses of CrewAI, and how it stands with each."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Python, python
from crewgraph_compat.moving.check import check_project
from crewgraph_compat.moving.report import report

from moving.rewriting import PROJECTS, notebook, put

__all__ = ["python"]

CHECK = ("-m", "crewgraph", "check")
HEAD = "from crewai import Agent, Crew, Process, Task\n"


def states(text: str, folder: Path) -> dict[str, str]:
    """The features of a program, each with its state."""
    checked = check_project(put(folder, program__py=text))
    assert checked.broken == []
    return {one.feature.shown: one.state.mark.value for one in checked.found}


USES = {
    "Agent(role='r')": ("Agent(role=)", "works"),
    "Agent(memory=False)": ("Agent(memory=)", "works"),
    "Crew(memory=False)": ("Crew(memory=)", "works"),
    "Crew(memory=True)": ("Crew(memory=)", "works"),
    "Crew(verbose=2)": ("Crew(verbose=)", "works"),
    "Crew(verbose=True)": ("Crew(verbose=)", "works"),
    "Crew(full_output=True)": ("Crew(full_output=)", "works"),
    "Agent(colour='red')": ("Agent(colour=)", "works"),
    "Task(max_retries=1)": ("Task(max_retries=)", "works"),
    "Crew().kickoff(inputs={})": ("Crew.kickoff(inputs=)", "works"),
    "Crew().kickoff(given={})": ("Crew.kickoff(given=)", "absent"),
    "Crew().kickoff().raw": ("CrewOutput.raw", "works"),
    "Crew().kickoff().tasks_output[0].pydantic": ("TaskOutput.pydantic", "works"),
    "Crew().kickoff().final_output": ("CrewOutput.final_output", "works"),
    "Crew().kickoff().result": ("CrewOutput.result", "works"),
    "Crew(stream=True).kickoff().result": ("CrewStreamingOutput.result", "works"),
    "Crew(stream=True).kickoff().result.raw": ("CrewOutput.raw", "works"),
    "Crew().kickoff().strip()": ("CrewOutput.strip", "works"),
    "Crew().kickoff().nothing": ("CrewOutput.nothing", "absent"),
    "Crew().replay('x')": ("Crew.replay", "works"),
    "Process.hierarchical": ("Process.hierarchical", "works"),
    "Process.consensual": ("Process.consensual", "absent"),
    "from crewai.plus_api import PlusAPI": ("crewai.plus_api.PlusAPI", "absent"),
    "from crewai.nothing import x": ("crewai.nothing.x", "absent"),
    "import crewai.plus_api": ("crewai.plus_api", "absent"),
    "from crewai_tools import SerperDevTool": ("crewai_tools.SerperDevTool", "works"),
    "from crewai_tools import BaseTool": ("crewai_tools.BaseTool", "works"),
    "def f(crew: 'Crew | None'): crew.train(n_iterations=1)": ("Crew.train(n_iterations=)", "works"),
    "def f(crews: list[Crew]):\n    for one in crews: one.nothing": ("Crew.nothing", "absent"),
    "class A(Agent):\n    def execute_task(self, *a): pass": ("override Agent.execute_task", "works"),
    "class A(Agent):\n    colour: str\nA(colour='red').colour": ("class(Agent)", "works"),
    "class A(Crew):\n    def _run_sequential_process(self): pass": ("override Crew._run_sequential_process", "differs"),
    "from crewai.flow.flow import start\n@start\ndef f(): pass": ("@start", "differs"),
    "import crewai as c\nc.Crew().kickoff()": ("Crew.kickoff", "works"),
    "Agent(code_execution_mode='unsafe')": ("Agent(code_execution_mode=)", "differs"),
    "Agent(code_execution_mode='safe')": ("Agent(code_execution_mode=)", "works"),
    "import re\nre.sub('a', 'b', Crew().kickoff())": ("re.sub(CrewOutput)", "absent"),
    "import json\njson.loads(Crew().kickoff())": ("json.loads(CrewOutput)", "absent"),
    "Path('a').write_text(Crew().kickoff())": ("write_text(CrewOutput)", "absent"),
    "from opentelemetry.instrumentation.crewai import CrewAIInstrumentor": (
        "opentelemetry.instrumentation.crewai",
        "absent",
    ),
    "import asyncio\nfrom crewai import Flow\nasyncio.run(Flow().kickoff())": ("await Flow.kickoff", "absent"),
}


@pytest.mark.parametrize("use", USES)
def test_a_use_and_its_state(tmp_path: Path, use: str):
    feature, state = USES[use]
    assert states(f"{HEAD}{use}\n", tmp_path).get(feature) == state


def test_what_may_be_a_stream_is_reported(tmp_path: Path):
    put(tmp_path, a__py=f"{HEAD}def show(crew: Crew):\n    print(crew.kickoff().result)\n")
    [result] = [one for one in check_project(tmp_path).found if one.feature.word == "result"]
    assert result.state.remarks[0].startswith("if the crew streams (`Crew(stream=True)`), this is the stream's result")


GUARDED = {
    "made = Crew().kickoff()\nif hasattr(made, 'nothing'):\n    made.nothing": "CrewOutput.nothing",
    "made = Crew().kickoff()\nx = made.nothing if getattr(made, 'nothing', None) else 1": "CrewOutput.nothing",
    "try:\n    Crew().kickoff().nothing\nexcept (AttributeError, KeyError):\n    pass": "CrewOutput.nothing",
    "try:\n    from crewai.nothing import x\nexcept ImportError:\n    x = None": "crewai.nothing.x",
    "try:\n    Crew().kickoff(given=1)\nexcept TypeError:\n    pass": "Crew.kickoff(given=)",
}


@pytest.mark.parametrize("program", GUARDED)
def test_what_a_program_goes_on_without_is_no_alarm(tmp_path: Path, program: str):
    assert states(f"{HEAD}{program}\n", tmp_path)[GUARDED[program]] == "works"
    unguarded = f"{HEAD}try:\n    from crewai.nothing import x\nexcept KeyError:\n    Crew().kickoff().nothing\n"
    found = states(unguarded, tmp_path)
    assert (found["crewai.nothing.x"], found["CrewOutput.nothing"]) == ("absent", "absent")


def test_a_class_of_the_file_of_which_nothing_is_known_is_no_feature(tmp_path: Path):
    text = (
        f"{HEAD}from crewai.flow.flow import Flow\nclass Note:\n    def shown(self): return 'x'\n"
        "class Made(Flow):\n    def note(self) -> Note:\n        return Note()\n    def other(self, one: 'Note'): one.shown()\n"
        "Made().note().shown()\n"
    )
    assert "Flow.note" not in states(text, tmp_path)


def test_what_runs_as_it_is_has_nothing_to_do(tmp_path: Path):
    text = f"{HEAD}Crew(memory=True, planning=True, verbose=2, process=Process.hierarchical).kickoff().strip()\n"
    first, *_ = report(check_project(put(tmp_path, a__py=text))).splitlines()
    assert first == "Nothing to do: `crewgraph run` runs this program as it is."
    everything = report(check_project(tmp_path), everything=True)
    assert everything.startswith(first) and "May differ: the code does not show whether it does" in everything


def test_what_only_streams_have_is_available_on_what_may_be_a_stream(tmp_path: Path):
    program = (
        "def make(**given):\n    return Crew(**given)\n"
        "found = make().kickoff()\nprint(found.is_completed, found.raw, found.nothing)\n"
    )
    found = states(f"{HEAD}{program}", tmp_path)
    assert (found["CrewStreamingOutput.is_completed"], found["CrewOutput.raw"]) == ("works", "works")
    assert found["CrewOutput.nothing"] == "absent"


def test_names_that_crewai_only_imports_need_not_be_installed(tmp_path: Path):
    text = (
        "import crewai.agent.core as core\nfrom crewai.rag.chromadb.config import Settings\ncore.Any\nSettings(x=1).y\n"
    )
    assert states(text, tmp_path)["crewai.agent.core"] == "works"


def test_what_a_class_has_of_its_own_is_no_feature(tmp_path: Path):
    text = (
        f"{HEAD}class Mine(Agent):\n    colour: str = ''\nmine = Mine(colour='red')\nmine.colour\nmine.kickoff('x')\n"
    )
    found = states(text, tmp_path)
    assert "Agent(colour=)" not in found and "Agent.colour" not in found and found["Agent.kickoff"] == "works"


def test_a_project_is_known_across_its_files_and_yaml(tmp_path: Path):
    checked = check_project(shutil.copytree(PROJECTS / "old_crew", tmp_path / "old"))
    places = {one.feature.shown: [f"{use.file}:{use.line}" for use in one.uses] for one in checked.found}
    assert places["CrewOutput.final_output"] == ["src/old_crew/main.py:9"]
    assert places["Agent(personality=)"] == ["src/old_crew/config/agents.yaml:9"]
    assert places["Task(output_file=)"] == ["src/old_crew/config/tasks.yaml:10"]
    assert places["crewai[tools]>=0.41.1"] == ["pyproject.toml:7"]


def test_notebooks_are_reported_by_cell(tmp_path: Path):
    checked = check_project(
        put(tmp_path, a__ipynb=notebook("!ls\nfrom crewai import Crew", "%%bash\nls", "\nCrew().nothing", "no py"))
    )
    places = {one.feature.shown: [(use.cell, use.line) for use in one.uses] for one in checked.found}
    assert places == {"crewai.Crew": [(1, 2)], "Crew.nothing": [(3, 2)]}
    assert [one.why for one in checked.broken] == ["cell 4: invalid syntax"]
    assert "a.ipynb:cell 3:2" in report(checked)


def test_crews_in_json_are_seen(tmp_path: Path):
    crew = '{\n  // a crew\n  "agents": ["a"],\n  "memory": true,\n  "tasks": [{"description": "d", "colour": 1}]\n}\n'
    checked = check_project(put(tmp_path, crew__jsonc=crew, other__json='{"agents": 1}'))
    assert {one.feature.shown: one.uses[0].line for one in checked.found} == {
        "Crew(memory=)": 4,
        "Task(description=)": 5,
        "Task(colour=)": 5,
    }


def test_files_that_cannot_be_read_are_reported_and_stop_nothing(tmp_path: Path):
    put(tmp_path, a__py="from crewai import (\n", b__py=HEAD, agents__yaml="a: [", pyproject__toml="[")
    (tmp_path / "c.py").write_bytes(b"import crewai\n# \xff\n")
    (tmp_path / "d.py").write_bytes(b"# coding: nothing\nimport crewai\n")
    checked = check_project(tmp_path)
    assert sorted(one.file for one in checked.broken) == ["a.py", "agents.yaml", "c.py", "d.py", "pyproject.toml"]
    assert len(checked.found) == 4


def test_nothing_of_a_project_is_run(tmp_path: Path, python: Python):
    put(tmp_path, setup__py="raise SystemExit('run')\n", a__py="import crewai\nraise SystemExit('run')\n")
    (tmp_path / "crewai").mkdir()
    put(tmp_path / "crewai", __init____py="raise SystemExit('run')\n")
    assert python(*CHECK, ".").returncode == 0


def test_the_report_is_grouped_and_summed_up(tmp_path: Path, python: Python):
    uses = "Agent(code_execution_mode='unsafe')\nCrew(memory=True)\n" + "Task(description='d')\n" * 5
    put(tmp_path, a__py=f"{HEAD}from crewai.plus_api import PlusAPI\n{uses}")
    done = python(*CHECK, "a.py")
    assert done.returncode == 1
    absent, differs, summary = done.stdout.split("\n\n")
    assert (
        absent.startswith("Not available: ")
        and "  crewai.plus_api.PlusAPI  a.py:2\n    `crewai.plus_api.PlusAPI` is not" in absent
    )
    assert differs == (
        'Differs: change each of these\n  Agent(code_execution_mode=)  a.py:3\n    - `code_execution_mode="unsafe"`\n'
        "      CrewAI 1.15: no tool is given. Here: `CompileError`.\n      To do: remove it."
    )
    hidden = "`--all` lists what works, and what may differ in cases that the code does not show."
    assert summary == f"8 CrewAI features in 1 file: 1 not available, 1 needs attention, 6 work. {hidden}\n"
    parts = python(*CHECK, "a.py", "--all").stdout.split("\n\n")
    may_differ, safer, works, summary = parts[2], parts[3], parts[-2], parts[-1]
    assert may_differ.startswith("May differ: ") and "\n    - `Crew(memory=True)`\n      CrewAI 1.15: one" in may_differ
    assert safer.startswith("Safer defaults: ") and "\n    - No `embedder` given" in safer
    assert works.startswith("Works\n") and "  Task(description=)  a.py:5, a.py:6, a.py:7, a.py:8, a.py:9\n" in works
    assert summary == "8 CrewAI features in 1 file: 1 not available, 1 needs attention, 6 work.\n"


def test_what_only_older_releases_do_otherwise_and_what_works_better_is_behind_all(tmp_path: Path):
    text = f"{HEAD}Agent(max_iter=3)\nagent = Agent(role='r')\nagent.tools_results\nTask(callbacks=[], converter_cls=Agent)\n"
    put(tmp_path, a__py=text, b__py="import crewai\n(")
    checked = check_project(tmp_path)
    unread, summary = report(checked).split("\n\n")
    assert unread == "Could not be read\n  b.py:2: '(' was never closed"
    assert summary.startswith(
        "9 CrewAI features in 1 file: 0 not available, 0 need attention, 9 work, 1 could not be read. `--all` "
    )
    _, differs, older, better, works, summary = report(checked, everything=True).split("\n\n")
    assert differs.startswith("May differ: ") and "  Task(converter_cls=)  a.py:5\n" in differs
    assert older.startswith("Coming from CrewAI 1.2: ")
    assert "CrewAI 1.2: continues to request 7. CrewAI 1.15 and here: ends with request 4." in older
    assert better == (
        "Improvements: nothing to do\n  Task(callbacks=)  a.py:5\n    - `callbacks` of a task\n"
        "      CrewAI 1.15: no effect. Here: called after `callback`."
    )
    assert "Task(callbacks=)" not in works and "Agent(role=)" in works
    assert "`--all`" not in summary


def test_the_exit_code_is_for_pipelines(tmp_path: Path, python: Python):
    put(tmp_path, works__py=HEAD, differs__py=f"{HEAD}Agent(code_execution_mode='unsafe')\n")
    assert python(*CHECK, "works.py", "--strict").returncode == 0
    assert python(*CHECK, "differs.py").returncode == 0
    assert python(*CHECK, "differs.py", "--strict").returncode == 1
    (tmp_path / "broken").mkdir()
    put(tmp_path / "broken", works__py=HEAD, open__py="from crewai import (\n", agents__yaml="a: [")
    assert python(*CHECK, "broken", "--json").returncode == 1
    unread = python(*CHECK, "broken")
    assert unread.returncode == 1 and "Could not be read" in unread.stdout and ", 2 could not be read" in unread.stdout
    for given in ("nowhere", "--nothing"):
        assert python(*CHECK, given).returncode == 2
    assert python(*CHECK, "nowhere").stderr == "Error: `nowhere` does not exist; pass a project folder or a file.\n"


def test_the_json_has_the_keys_that_the_page_tells(tmp_path: Path, python: Python):
    put(
        tmp_path,
        a__py="from crewai import Agent\nAgent(code_execution_mode='unsafe')\n",
        b__ipynb=notebook("import crewai"),
        c__py="crewai(",
    )
    reported: dict[str, Any] = json.loads(python(*CHECK, ".", "--json").stdout)
    assert list(reported) == ["schema", "crewgraph", "path", "summary", "features", "broken"]
    assert reported["schema"] == 1
    assert reported["summary"] == {"files": 2, "broken": 1, "works": 2, "differs": 1, "absent": 0}
    [memory] = [one for one in reported["features"] if one["state"] == "differs"]
    assert list(memory) == ["feature", "sort", "state", "said", "differences", "uses"]
    assert (memory["feature"], memory["sort"], memory["uses"]) == (
        "Agent(code_execution_mode=)",
        "keyword",
        [{"file": "a.py", "line": 2}],
    )
    assert list(memory["differences"][0]) == ["kind", "what", "crewai", "crewgraph", "to_do"]
    assert {row["kind"] for row in memory["differences"]} == {"safer default"}
    assert {"file": "b.ipynb", "line": 1, "cell": 1} in [use for one in reported["features"] for use in one["uses"]]
    assert reported["broken"] == [{"file": "c.py", "line": 1, "why": "'(' was never closed"}]


@pytest.mark.parametrize("project", ["old_crew", "harbour_flow", "notebooks"])
def test_what_is_moved_over_uses_nothing_of_crewai_any_more(tmp_path: Path, python: Python, project: str):
    shutil.copytree(PROJECTS / project, tmp_path / "p")
    python("-m", "crewgraph", "migrate", "p", "--write")
    left = [one.feature.shown for one in check_project(tmp_path / "p").found]
    assert not [one for one in left if one.startswith("crewai") and one != "crewai-tools"]
