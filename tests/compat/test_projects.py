"""CrewAI's functions for projects, JSON crews and conversations, without running them."""

import json
from pathlib import Path
from typing import Any

import pytest
from crewgraph_compat import installed
from crewgraph_compat.stand_ins.console import chat
from crewgraph_compat.stand_ins.context import CrewContext, get_crew_context
from crewgraph_compat.stand_ins.mcp import failures
from crewgraph_compat.stand_ins.models.calls import extract_task_section
from crewgraph_compat.stand_ins.projects import exports, methods
from crewgraph_compat.stand_ins.projects.files import load_json_crew_project, validate_crew_project
from modes import Mode
from pydantic import ValidationError

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.contrib.declared import crew as definitions
from crewgraph.errors import DefinitionError, MCPServerError
from crewgraph.project import CrewBase, agent, crew, load_agent_from_definition, load_crew_from_definition, task
from crewgraph.tools import tool

PILOT = {"role": "Pilot", "goal": "Guide", "backstory": "Knows the way.", "llm": "openai/gpt-4o"}
GUIDE = {"description": "Guide {ship}", "expected_output": "A text", "agent": "pilot", "name": "guide"}


@CrewBase
class Harbour:
    agents_config: Any = {"pilot": {"role": "r", "goal": "g", "backstory": "b"}}
    tasks_config: Any = {"guide": {"description": "d", "expected_output": "e", "agent": "pilot"}}

    @agent
    def pilot(self) -> Agent:
        return Agent(config=self.agents_config["pilot"])  # pyright: ignore[reportCallIssue]

    @task
    def guide(self) -> Task:
        return Task(config=self.tasks_config["guide"])  # pyright: ignore[reportCallIssue]

    @crew
    def crew(self: Any) -> Crew:
        return Crew(agents=self.agents, tasks=self.tasks)


def test_methods_of_a_project_are_reported_by_their_classes():
    one = Harbour()
    assert isinstance(Harbour.pilot, methods.AgentMethod) and isinstance(Harbour.pilot, methods.DecoratedMethod)
    assert isinstance(Harbour.crew, methods.CrewMethod) and not isinstance(Harbour.crew, methods.AgentMethod)
    assert isinstance(Harbour.guide, methods.TaskMethod) and not isinstance(Harbour.guide, methods.DecoratedMethod)
    assert isinstance(one.guide, methods.BoundTaskMethod) and not isinstance(one.guide, methods.TaskMethod)
    assert isinstance(Harbour, methods.CrewBaseMeta) and not isinstance(Crew, methods.CrewBaseMeta)
    methods.map_all_agent_variables(one)
    methods.map_all_task_variables(one)


def test_methods_may_be_wrapped_by_hand():
    def pilot(self: Any) -> str:
        return "made"

    made = methods.AgentMethod(pilot)
    assert made.is_agent and made.unwrap() is pilot and made(None) == "made"

    def guide(self: Any) -> Task:
        return Task(description="d", expected_output="e")

    assert methods.TaskMethod(guide)(None).name == "guide"


def test_a_crew_is_made_of_its_definition():
    given: dict[str, Any] = {"agents": {"pilot": PILOT}, "tasks": [GUIDE], "inputs": {"ship": "Ann"}, "verbose": True}
    for definition in (given, definitions.CrewDefinition.model_validate(given)):
        made, inputs = load_crew_from_definition(definition)
        assert (made.agents[0].role, made.tasks[0].agent, made.verbose, inputs) == (
            "Pilot",
            made.agents[0],
            True,
            {"ship": "Ann"},
        )


def test_a_manager_of_a_definition_is_none_of_those_who_work():
    given: dict[str, Any] = {
        "agents": {"pilot": PILOT, "chief": {**PILOT, "role": "Chief"}},
        "tasks": [GUIDE],
        "manager_agent": "chief",
        "process": "hierarchical",
    }
    made, _ = load_crew_from_definition(given)
    assert [one.role for one in made.agents] == ["Pilot"] and made.manager_agent is not None


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        ({"agents": {}}, "<inline crew>: `agents` must be an object"),
        ({"foo": 1}, "`Crew` has no `foo`"),
        ({"tasks": [{**GUIDE, "agent": "cook"}]}, "'cook' is not an agent of the crew"),
        ({"agents": {"pilot": {**PILOT, "type": "Robot"}}}, "`pilot` has an unknown `type`; available: Agent"),
    ],
)
def test_faults_of_a_definition_are_reported(change: dict[str, Any], reported: str):
    with pytest.raises(DefinitionError, match=reported):
        load_crew_from_definition({"agents": {"pilot": PILOT}, "tasks": [GUIDE], **change})


def test_an_agent_is_made_of_its_definition_with_the_form_of_its_answers(tmp_path: Path):
    (tmp_path / "forms_of_answers.py").write_text(
        "from pydantic import BaseModel\nfrom crewgraph import Agent\n\n\nclass Way(BaseModel):\n    course: int\n\n\n"
        "class Own(Agent):\n    pass\n"
    )
    given = definitions.AgentDefinition.model_validate(
        {
            **PILOT,
            "input": "Where?",
            "response_format": {"python": "forms_of_answers.Way"},
            "type": {"python": "forms_of_answers.Own"},
        }
    )
    made, form = load_agent_from_definition(given, project_root=tmp_path)
    assert type(made).__name__ == "Own" and form is not None and list(form.model_fields) == ["course"]


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (definitions.PythonReferenceDefinition, {"python": "a"}),
        (definitions.CrewAgentDefinition, {"settings": [1]}),
        (definitions.AgentDefinition, {"input": []}),
        (definitions.CrewDefinition, {"agents": ["pilot"], "tasks": [GUIDE]}),
        (definitions.CrewDefinition, {"agents": {"pilot": PILOT}, "tasks": []}),
    ],
)
def test_a_definition_of_the_wrong_form_is_refused(kind: Any, given: dict[str, Any]):
    with pytest.raises(ValidationError):
        kind.model_validate(given)


def test_the_files_of_a_crew_are_read_without_making_it(tmp_path: Path):
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents/pilot.jsonc").write_text(json.dumps({**PILOT, "settings": {"max_iter": 3}}))
    file = tmp_path / "crew.jsonc"
    file.write_text(json.dumps({"agents": ["pilot"], "tasks": [GUIDE], "inputs": {"ship": "Ann"}}))
    found = load_json_crew_project(file)
    assert (found.agent_names, found.agents["pilot"].kwargs["max_iter"], found.task_definitions) == (
        ["pilot"],
        3,
        [GUIDE],
    )
    file.write_text(
        json.dumps({"agents": ["pilot", "cook"], "tasks": [{**GUIDE, "agent": "cook", "foo": 1}], "bar": 2})
    )
    with pytest.raises(DefinitionError) as first:
        load_json_crew_project(file)
    assert str(first.value) == f"{file}: unsupported field(s): bar"
    with pytest.raises(DefinitionError) as all_of_them:
        validate_crew_project(file)
    assert [line.partition(str(file))[2] for line in str(all_of_them.value).splitlines()] == [
        ": unsupported field(s): bar",
        f": agent 'cook' not found in {tmp_path}/agents: there is neither cook.jsonc nor cook.json",
        ": tasks[0]: unsupported field(s): foo",
        ": tasks[0] is for the agent 'cook', which the crew does not list",
    ]


def harbour(llm: Any) -> Crew:
    pilot = Agent(role="Pilot", goal="Guide {ship}", backstory="b", llm=llm)
    return Crew(agents=[pilot], tasks=[Task(description="Guide {ship}", expected_output="A text", agent=pilot)])


def test_a_crew_is_described_and_is_a_tool_of_who_speaks_for_it():
    plain = chat.generate_crew_chat_inputs(harbour(None), "harbour", None, generate_descriptions=False)
    assert [one.name for one in plain.inputs] == ["ship"] and plain.crew_description == "A CrewAI crew."
    model = ScriptedLLM(["a ship's name", "guides ships"])
    reported = chat.generate_crew_chat_inputs(harbour(None), "harbour", model)
    assert (reported.inputs[0].description, reported.crew_description) == ("a ship's name", "guides ships")
    assert chat.generate_crew_tool_schema(reported)["function"] == {
        "name": "harbour",
        "description": "guides ships",
        "parameters": {
            "type": "object",
            "properties": {"ship": {"type": "string", "description": "a ship's name"}},
            "required": ["ship"],
        },
    }
    assert "guides ships" in chat.build_system_message(reported)
    run = chat.create_tool_function(harbour(ScriptedLLM(["It is in."])), [{"role": "user", "content": "Ann, please"}])
    assert run(ship="Ann") == "It is in."


def test_what_a_person_says_is_answered(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    said = iter(["Ann,", "please", "", "exit"])
    monkeypatch.setattr("builtins.input", lambda _prompt="": next(said))
    messages: list[Any] = []
    schema = chat.generate_crew_tool_schema(
        chat.generate_crew_chat_inputs(harbour(None), "harbour", None, generate_descriptions=False)
    )
    chat.chat_loop(ScriptedLLM(["Gladly."]), messages, schema, {})
    assert messages == [{"role": "user", "content": "Ann,\nplease"}, {"role": "assistant", "content": "Gladly."}]
    assert "Gladly." in capsys.readouterr().out


def test_code_in_a_run_knows_the_crew(mode: Mode):
    seen: list[CrewContext | None] = []

    @tool
    def look() -> str:
        """Look."""
        seen.append(get_crew_context())
        return "seen"

    pilot = Agent(
        role="Pilot", goal="g", backstory="b", tools=[look], llm=ScriptedLLM([{"name": "look", "args": {}}, "done"])
    )
    made = Crew(agents=[pilot], tasks=[Task(description="d", expected_output="e", agent=pilot)])
    mode.kickoff(made)
    assert seen == [CrewContext(id=str(made.id), key=made.key)] and get_crew_context() is None


PROJECT = {
    "pyproject.toml": '[project]\nname = "harbour"\nversion = "1.2"\n',
    "src/harbour/crew.py": "from crewgraph import Agent, Crew, Task\n\npilot = Agent(role='r', goal='g', backstory='b')\n"
    "harbour = Crew(agents=[pilot], tasks=[Task(description='d', expected_output='e', agent=pilot)])\n",
    "src/harbour/main.py": "from crewgraph.flow import Flow, start\n\n\nclass Day(Flow):\n"
    "    @start()\n    def dawn(self):\n        pass\n",
    "src/harbour/__init__.py": "from crewgraph.tools import tool\n\n\n@tool\ndef depth(place: str) -> str:\n    '''How deep.'''\n"
    "    return place\n\n\n__all__ = ['depth']\n",
}


def test_the_files_of_a_project_are_looked_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    assert exports.get_project_name() == "harbour" and exports.get_project_version() == "1.2"
    assert exports.get_project_description() is None
    with pytest.raises(SystemExit, match="has no `description`"):
        exports.get_project_description(require=True)
    assert len(exports.get_crews()) == 1 and len(exports.get_flows()) == 1
    assert exports.get_crews("nope.py") == []
    assert exports.extract_available_exports() == [{"name": "depth"}]
    [described] = exports.extract_tools_metadata()
    assert (described["name"], list(described["run_params_schema"]["properties"])) == ("depth", ["place"])


def test_failures_of_servers_are_reported_by_their_status():
    refused = failures.error_for_status(401, "no key")
    assert isinstance(refused, failures.MCPAuthenticationError) and refused.status_code == 401
    assert isinstance(refused, ConnectionError) and "no key" in str(refused)
    around = ExceptionGroup("several", [ValueError("x"), refused])
    assert failures.find_http_status(None, around) == 401
    assert failures.tool_execution_error_type(around) == "authentication"
    lost = ConnectionError("gone")
    assert failures.find_transport_failure(ValueError(), lost) is lost
    with pytest.raises(MCPServerError, match="no answer: gone") as reported:
        failures.raise_connection_failure("no answer", lost)
    assert reported.value.status_code is None and reported.value.__cause__ is lost
    assert failures.content_blocks_to_text([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]) == "a\nb"


def test_a_section_of_a_text_is_found():
    assert extract_task_section("pre\n## Task\nfoo\nbaz\n\n## Other\nq") == "foo\nbaz"
    assert extract_task_section("no heading") == "no heading"


def test_programs_import_these_from_where_crewai_has_them():
    with installed():
        found: dict[str, Any] = {}
        exec(
            "from crewai.project.crew_definition import LLMDefinition\n"
            "from crewai.project.crew_loader import load_crew_from_definition\n"
            "from crewai.project.wrappers import AgentMethod\n"
            "from crewai.mcp.exceptions import MCPAuthenticationError\n"
            "from crewai.utilities.crew.crew_context import get_crew_context\n"
            "from crewai.utilities.reasoning_handler import FUNCTION_SCHEMA\n",
            found,
        )
    assert found["load_crew_from_definition"] is load_crew_from_definition
    assert found["AgentMethod"] is methods.AgentMethod and found["get_crew_context"] is get_crew_context
