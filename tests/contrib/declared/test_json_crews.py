"""Crews in JSON files: crew.jsonc, and agents/<name>.jsonc next to it."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from modes import Mode
from pydantic import ValidationError
from servers.openai_api import OpenAIServer, call

from crewgraph import ConditionalTask, Process
from crewgraph.errors import DefinitionError
from crewgraph.project import load_agent, load_crew, load_crew_and_kickoff, strip_jsonc_comments

PILOT: dict[str, Any] = {"role": "Pilot of {port}", "goal": "Know the depth", "backstory": "b", "llm": "openai/test"}
SOUND: dict[str, Any] = {"name": "sound", "description": "Sound {port}", "expected_output": "m", "agent": "pilot"}
LOG: dict[str, Any] = {"name": "log", "description": "Log it", "expected_output": "a line", "agent": "pilot"}
CREW: dict[str, Any] = {
    "agents": ["pilot"],
    "tasks": [SOUND, {**LOG, "context": ["sound"]}],
    "inputs": {"port": "Brest"},
}

DEPTH = """
from crewgraph.tools import BaseTool

class Base(BaseTool):
    name: str = "depth"
    description: str = "How deep a port is."

    def _run(self, port: str) -> str:
        return f"{port}: 12 m"
"""

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes a crew's files into the test's folder, which is the working directory: `write(crew, pilot={...})`."""
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)

    def written(crew: Any = CREW, **agents: Any) -> Path:
        (tmp_path / "agents").mkdir(exist_ok=True)
        for name, agent in (agents or {"pilot": PILOT}).items():
            (tmp_path / "agents" / f"{name}.jsonc").write_text(json.dumps(agent), "utf-8")
        path = tmp_path / "crew.jsonc"
        path.write_text(crew if isinstance(crew, str) else json.dumps(crew), "utf-8")
        return path

    yield written
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")) or name == "tools":
            del sys.modules[name]


def module(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, "utf-8")


def refused(path: Path) -> str:
    with pytest.raises(DefinitionError) as caught:
        load_crew(path)
    return str(caught.value)


def test_a_crew_and_its_inputs_are_loaded(write: Write):
    crew, inputs = load_crew(write())
    assert inputs == {"port": "Brest"}
    assert [(agent.role, agent.llm.model) for agent in crew.agents] == [("Pilot of {port}", "test")]
    assert [(task.name, task.agent) for task in crew.tasks] == [("sound", crew.agents[0]), ("log", crew.agents[0])]
    assert crew.tasks[1].context == [crew.tasks[0]]
    assert crew.name == "crew"


def test_a_loaded_crew_runs_with_a_tool_of_its_own(
    mode: Mode, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    module(tmp_path, "tools/depth.py", DEPTH)
    path = write(pilot={**PILOT, "tools": ["custom:depth"]})
    with OpenAIServer([call("depth", {"port": "Brest"}), "12 m", "Brest is 12 m deep."]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        crew, inputs = load_crew(path)
        assert mode.kickoff(crew, inputs).raw == "Brest is 12 m deep."
    assert "Brest: 12 m" in str(server.bodies[1]["messages"])


def test_a_crew_may_be_loaded_and_run_at_once(write: Write, monkeypatch: pytest.MonkeyPatch):
    with OpenAIServer(["12 m", "done"]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert load_crew_and_kickoff(write(), {"port": "Rostock"}).raw == "done"
    assert "Sound Rostock" in str(server.bodies[0]["messages"])


def test_comments_and_trailing_commas_are_no_part_of_the_data(write: Write):
    text = '{"a": "// no /* no */ ,]", /* yes\n yes */ "b": [1, 2,], // end\n}'
    assert json.loads(strip_jsonc_comments(text)) == {"a": "// no /* no */ ,]", "b": [1, 2]}
    assert strip_jsonc_comments(text).count("\n") == text.count("\n")
    assert len(strip_jsonc_comments(text)) == len(text)
    crew, _ = load_crew(write("// the crew\n" + json.dumps(CREW)[:-1] + ", /* its way */ }"))
    assert len(crew.tasks) == 2


def test_fields_of_the_crew_and_the_tasks_are_taken(write: Write):
    tasks = [{**SOUND, "output_file": "o.md", "markdown": True, "guardrail": "Be short."}]
    crew, inputs = load_crew(
        write({"name": "Harbour", "process": "sequential", "verbose": True, "agents": ["pilot"], "tasks": tasks})
    )
    assert (crew.name, crew.process, crew.verbose, inputs) == ("Harbour", Process.sequential, True, {})
    assert (crew.tasks[0].output_file, crew.tasks[0].markdown, crew.tasks[0].guardrail) == ("o.md", True, "Be short.")


def test_a_manager_is_a_file_too(write: Write):
    crew, _ = load_crew(
        write(
            {**CREW, "process": "hierarchical", "manager_agent": "chief"}, pilot=PILOT, chief={**PILOT, "role": "Chief"}
        )
    )
    assert crew.manager_agent is not None
    assert crew.manager_agent.role == "Chief"
    assert [agent.role for agent in crew.agents] == ["Pilot of {port}"]


def test_python_of_the_project_may_be_named(write: Write, tmp_path: Path):
    module(
        tmp_path,
        "parts_of_the_crew.py",
        "from pydantic import BaseModel\nclass Depth(BaseModel):\n    metres: float\n"
        "def note(output): ...\ndef deep(output): ...\n",
    )
    tasks = [
        {
            **SOUND,
            "output_pydantic": {"python": "parts_of_the_crew.Depth"},
            "callback": {"python": "parts_of_the_crew.note"},
        },
        {**LOG, "type": "ConditionalTask", "condition": {"python": "parts_of_the_crew.deep"}},
    ]
    path = write({**CREW, "tasks": tasks, "before_kickoff_callbacks": [{"python": "parts_of_the_crew.note"}]})
    crew, _ = load_crew(path)
    parts = sys.modules["parts_of_the_crew"]
    assert (crew.tasks[0].output_pydantic, crew.tasks[0].callback) == (parts.Depth, parts.note)
    assert isinstance(crew.tasks[1], ConditionalTask)
    assert crew.tasks[1].condition is parts.deep
    assert crew.before_kickoff_callbacks == [parts.note]
    assert str(tmp_path) not in sys.path


def test_tools_are_named_by_file_or_by_module_and_class(write: Write, tmp_path: Path):
    module(tmp_path, "tools/depth.py", DEPTH)
    module(
        tmp_path,
        "tools/look.py",
        "from crewgraph.tools import tool\n@tool\ndef look(at: str) -> str:\n    '''Look.'''\n    return at\n",
    )
    names = ["custom:depth", "custom:look", "tools.depth:Base"]
    crew, _ = load_crew(write({**CREW, "tasks": [{**SOUND, "tools": names[:1]}]}, pilot={**PILOT, "tools": names}))
    assert [tool.name for tool in crew.agents[0].tools or []] == ["depth", "look", "depth"]
    assert [tool.name for tool in crew.tasks[0].tools or []] == ["depth"]


def test_missing_files_are_file_not_found_errors(write: Write):
    with pytest.raises(FileNotFoundError, match="there is no file nowhere.jsonc"):
        load_crew("nowhere.jsonc")
    with pytest.raises(FileNotFoundError, match="there is no file nowhere.json"):
        load_agent("nowhere.json")


def sound(**more: Any) -> dict[str, Any]:
    """Return a crew whose first task has these additional keys."""
    return {**CREW, "tasks": [{**SOUND, **more}, LOG]}


UNUSABLE: list[tuple[Any, str]] = [
    ("{", "crew.jsonc:1:2: invalid JSON: Expecting property name"),
    ('{\n  "agents": oops}', "crew.jsonc:2:13: invalid JSON"),
    ("[1]", "crew.jsonc: the file must hold one object, `{...}`"),
    ('{"agents": [], "agents": []}', "crew.jsonc: `agents` occurs twice in one object; keep one of them"),
    ({"tasks": [SOUND]}, "crew.jsonc: `agents` must be a non-empty list"),
    ({"agents": ["pilot"]}, "crew.jsonc: `tasks` must be a non-empty list"),
    ({**CREW, "agents": ["../pilot"]}, "crew.jsonc: '../pilot' in `agents` is not the name of a file in agents"),
    ({**CREW, "agents": [PILOT]}, "is not the name of a file in agents"),
    ({**CREW, "inputs": [1]}, "crew.jsonc: `inputs` must be an object of names and values"),
    ({**CREW, "verbos": True}, "crew.jsonc: `Crew` has no `verbos`. Did you mean `verbose`?"),
    ({**CREW, "tasks": [5]}, "crew.jsonc: `tasks[0]` must be an object"),
    (sound(agnet=1), "crew.jsonc: `sound`: `Task` has no `agnet`. Did you mean `agent`?"),
    (sound(agent="pilto"), "`sound`: `agent`: 'pilto' is not an agent of the crew; available: `pilot`"),
    (sound(agent=["pilot"]), "`sound`: `agent`: ['pilot'] is not an agent of the crew; available: `pilot`"),
    (sound(context=["log"]), "crew.jsonc: `sound`: `context`: 'log' is not an earlier task; available: none"),
    (sound(context="log"), "crew.jsonc: `sound`: `context` must be a list of task names"),
    (sound(type="Other"), "`sound` has an unknown `type`; available: Task, ConditionalTask"),
    (sound(callback={"python": "os.getcwd"}), "`sound`: `callback`: there is no module `os` in"),
    (sound(callback={"python": "../x.y"}), "'../x.y' is not of the form `module.attribute`"),
    (sound(callback={"python": "own.nothing"}), "`callback`: the module `own` has no `nothing`"),
    (sound(tools=["custom:nope"]), "nope.py for the tool 'custom:nope'"),
    (sound(tools=["custom:../own"]), "the part after the colon must be the name of a file in tools/"),
    (sound(tools=["custom:empty"]), "empty.py contains no tool: neither a subclass of `BaseTool` nor"),
    (
        sound(tools=["no_such_package:Tool"]),
        "the tool 'no_such_package:Tool' from the module `no_such_package`: No module",
    ),
    (sound(tools=["Nope"]), "cannot load the tool 'Nope' from the module `crewai_tools`: "),
]


@pytest.mark.parametrize(("crew", "message"), UNUSABLE, ids=range(len(UNUSABLE)))
def test_a_file_that_cannot_be_used_is_reported(write: Write, tmp_path: Path, crew: Any, message: str):
    module(tmp_path, "own.py", "")
    module(tmp_path, "tools/empty.py", "")
    assert message in refused(write(crew))


def test_values_of_a_wrong_type_are_reported_with_their_file(write: Write):
    with pytest.raises(
        ValidationError, match="agents/pilot.jsonc: `max_iter` of `pilot`: Input should be a valid integer"
    ):
        load_crew(write(pilot={**PILOT, "max_iter": "many"}))
    with pytest.raises(ValidationError, match="crew.jsonc: `markdown` of `sound`: Input should be a valid boolean"):
        load_crew(write({**CREW, "tasks": [{**SOUND, "markdown": "perhaps"}]}))
    with pytest.raises(ValidationError, match="max_rpm") as caught:
        load_crew(write({**CREW, "max_rpm": "many"}))
    assert caught.value.__notes__ == ["in crew.jsonc"]


def test_a_file_that_is_not_utf_8_is_reported(write: Write, tmp_path: Path):
    write()
    (tmp_path / "agents" / "pilot.jsonc").write_bytes('{"role": "Prüfer"}'.encode("latin-1"))
    assert refused(tmp_path / "crew.jsonc") == "agents/pilot.jsonc: the file is not UTF-8; save it as UTF-8"


def test_a_link_out_of_the_project_is_not_followed(
    write: Write, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
):
    outside = tmp_path_factory.mktemp("outside") / "other.py"
    outside.write_text("raise RuntimeError('imported')\n")
    (tmp_path / "linked.py").symlink_to(outside)
    assert "there is no module `linked`" in refused(write({**CREW, "task_callback": {"python": "linked.x"}}))
