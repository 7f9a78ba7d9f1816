"""`@CrewBase` turns a class into a project without replacing it."""

import copy
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, assert_type

import pytest

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.errors import DefinitionError
from crewgraph.project import CrewBase, agent, before_kickoff, crew, task
from crewgraph.project import crew as crew_method

from .parts import AGENTS, CREW, TASKS, roles, titles

Load = Callable[..., Any]


def someone(role: str) -> Agent:
    return Agent(role=role, goal="g", backstory="b", llm=ScriptedLLM(["done"], repeat_last=True))


def work(by: Agent, **more: Any) -> Task:
    return Task(description="d", expected_output="e", agent=by, **more)


@CrewBase
class Team:
    """Two people and a task."""

    def __init__(self, start: int = 0) -> None:
        self.start = start
        self.made: list[str] = []

    @agent
    def second(self) -> Agent:
        """Stands first, though it is called second."""
        self.made.append("second")
        return someone("Second")

    @agent
    def first(self, mood: str = "calm") -> Agent:
        self.made.append("first")
        return someone(f"First, {mood}")

    @task
    def plan(self) -> Task:
        self.made.append("plan")
        return work(self.first())

    @task
    def act(self) -> Task:
        return work(self.second(), name="action")

    @crew
    def crew(self, verbose: bool = False) -> Crew:
        self.made.append("crew")
        return Crew(agents=self.agents, tasks=self.tasks, verbose=verbose)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType]


def test_the_class_keeps_its_name_module_docstring_and_identity():
    assert (Team.__name__, Team.__qualname__, Team.__module__) == ("Team", "Team", __name__)
    assert Team.__doc__ == "Two people and a task."
    assert type(Team) is type
    assert isinstance(Team(), Team)
    assert Team.second.__doc__ == "Stands first, though it is called second."


def test_types_pass_through_the_decorators():
    assert_type(Team(), Team)
    assert_type(Team().first(), Agent)
    assert_type(Team().plan(), Task)
    assert_type(Team().crew(verbose=True), Crew)


def test_crew_base_stands_above_a_class_only():
    with pytest.raises(TypeError, match="`@CrewBase` decorates a class and takes no arguments; it got 5"):
        CrewBase(5)  # pyright: ignore[reportArgumentType]


def test_agents_and_tasks_stand_in_the_order_of_the_class():
    made = Team().crew()
    assert roles(made) == ["Second", "First, calm"]
    assert titles(made) == ["plan", "action"]


def test_a_task_is_named_after_its_method_unless_it_has_a_name():
    assert (Team().plan().name, Team().act().name) == ("plan", "action")


def test_each_method_is_called_once_for_an_object():
    team = Team()
    assert team.crew() is team.crew()
    assert team.first() is team.first() is team.crew().agents[1]
    assert team.plan() is team.crew().tasks[0]
    assert sorted(team.made) == ["crew", "first", "plan", "second"]


def test_other_arguments_make_another_object():
    team = Team()
    assert team.first("glad") is team.first("glad")
    assert team.first("glad") is not team.first()
    assert team.first("glad") is not team.first(mood="glad")
    assert team.crew(verbose=True) is not team.crew()
    assert team.crew(verbose=True).agents[0] is team.crew().agents[0]


def test_a_copy_of_an_object_makes_agents_of_its_own():
    team = Team(start=1)
    team.crew()
    for copied in (copy.copy(team), copy.deepcopy(team)):
        assert copied.start == 1
        assert copied.first() is not team.first()
        assert copied.first() is copied.first()
    assert team.first() is team.crew().agents[1]


def test_threads_that_ask_at_once_get_the_same_object():
    team, gate, found = Team(), threading.Barrier(8), list[Crew]()

    def ask() -> None:
        gate.wait()
        found.append(team.crew())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len({id(made) for made in found}) == 1
    assert len(found[0].agents) == 2


def test_a_method_that_fails_is_called_again():
    @CrewBase
    class Shy:
        attempts = 0

        @agent
        def one(self) -> Agent:
            self.attempts += 1
            if self.attempts == 1:
                raise ConnectionError("not yet")
            return someone("One")

    shy = Shy()
    with pytest.raises(ConnectionError):
        shy.one()
    assert shy.one().role == "One"


def test_agents_and_tasks_are_there_before_the_crew_is_made_and_may_be_changed(load: Load):
    paper = load(CREW, agents=AGENTS, tasks=TASKS).Paper()
    assert roles(paper) == ["Researcher of {topic}", "Writer"]
    paper.agents.pop()
    assert roles(paper) == ["Researcher of {topic}"]
    assert roles(paper.crew()) == ["Researcher of {topic}", "Writer"]
    with pytest.raises(AttributeError, match=r"`agents` is only available on an instance: `Paper\(\).agents`"):
        paper.__class__.agents  # noqa: B018


BASE = """
def someone(role):
    return Agent(role=role, goal="g", backstory="b", llm=ScriptedLLM(["done"], repeat_last=True))

@CrewBase
class Base:
    @agent
    def first(self):
        return someone("First")

    @agent
    def second(self):
        return someone("Second")

    @task
    def begin(self):
        return Task(description="d", expected_output="e", agent=self.first())

    @before_kickoff
    def greet(self, inputs):
        return {**inputs, "greeted": "base"}

    @crew
    def crew(self):
        return Crew(agents=self.agents, tasks=self.tasks)
"""


@pytest.mark.parametrize("decorator", ["@CrewBase", ""], ids=["decorated", "not decorated again"])
def test_a_subclass_inherits_overrides_in_place_and_adds_at_the_end(load: Load, decorator: str):
    child = f"""
{decorator}
class Child(Base):
    @task
    def end(self):
        return Task(description="d", expected_output="e", agent=self.third())

    @agent
    def third(self):
        return someone("Third")

    @agent
    def first(self):
        return someone("First of the child")

    @before_kickoff
    def greet(self, inputs):
        return {{**super().greet(inputs), "child": "too"}}
"""
    module = load(BASE + child)
    team = module.Child()
    assert isinstance(team, module.Base)
    assert roles(team.crew()) == ["First of the child", "Second", "Third"]
    assert titles(team.crew()) == ["begin", "end"]
    assert team.crew().name == "Child"
    assert [hook({"a": 1}) for hook in team.crew().before_kickoff_callbacks] == [
        {"a": 1, "greeted": "base", "child": "too"}
    ]
    assert roles(module.Base().crew()) == ["First", "Second"]


def test_an_override_keeps_its_role_without_a_decorator(load: Load):
    child = """
class Child(Base):
    def first(self):
        return someone("First of the child")
"""
    team = load(BASE + child).Child()
    assert roles(team.crew()) == ["First of the child", "Second"]
    assert team.first() is team.crew().agents[0] is team.begin().agent


def test_an_attribute_in_the_place_of_a_method_takes_it_out(load: Load):
    team = load(BASE + "\nclass Child(Base):\n    second = None\n").Child()
    assert roles(team.crew()) == ["First"]


def test_a_crew_method_needs_crew_base():
    class Plain:
        @crew_method
        def crew(self) -> Crew:
            return Crew()

    with pytest.raises(DefinitionError, match="`Plain.crew` is in a class that is not a project; decorate"):
        Plain().crew()


def test_a_crew_method_that_is_called_on_the_class_says_how_to_call_it():
    @CrewBase
    class Desk:
        @crew_method
        def crew(self) -> Crew:
            return Crew()

    called_on_the_class: Any = Desk.crew
    with pytest.raises(DefinitionError, match=r"`Desk.crew` was called on the class; write `Desk\(\).crew\(\)`"):
        called_on_the_class()


@pytest.mark.parametrize("role", ["agent", "task"])
def test_a_method_that_forgets_to_return_is_named(load: Load, role: str):
    team = load(BASE + f"\nclass Child(Base):\n    @{role}\n    def forgets(self):\n        pass\n").Child()
    with pytest.raises(
        DefinitionError, match=rf"the `@{role}` method `Child.forgets` returned None; return the {role}"
    ):
        team.crew()


def test_a_crew_method_that_returns_no_crew_is_named(load: Load):
    team = load(BASE + "\nclass Child(Base):\n    @crew\n    def crew(self):\n        self.agents\n").Child()
    with pytest.raises(DefinitionError, match=r"`Child.crew` returned None; return the crew: `return Crew\(agents="):
        team.crew()


def test_a_decorator_that_is_hidden_by_a_method_is_reported(load: Load):
    hidden = """
@CrewBase
class Hidden:
    @crew
    def crew(self):
        return Crew(agents=self.agents, tasks=self.tasks)

    @crew
    def other(self):
        return Crew(agents=self.agents, tasks=self.tasks)
"""
    with pytest.raises(DefinitionError, match="`@crew` on `Hidden.other` is the method `crew` defined earlier"):
        load(hidden)


def test_hooks_are_added_once_however_often_the_crew_is_asked_for():
    @CrewBase
    class Kept:
        made: Crew | None = None

        @before_kickoff
        def before(self, inputs: dict[str, Any]) -> dict[str, Any]:
            return inputs

        @crew_method
        def crew(self, verbose: bool = False) -> Crew:
            self.made = self.made or Crew(
                agents=[someone("One")], tasks=[], before_kickoff_callbacks=[dict, self.before]
            )
            return self.made

    stored = Kept()
    assert stored.crew() is stored.crew(verbose=True) is stored.crew(verbose=False)
    assert len(stored.crew().before_kickoff_callbacks) == 2


MCP = """
import sys
from servers.mcp_server import PROGRAM

SERVER = {"command": sys.executable, "args": [PROGRAM, NOTES]}

@CrewBase
class Harbour:
    mcp_server_params = [SERVER]
    mcp_connect_timeout = 20

    @agent
    def one(self):
        script = [ToolUse("depth", {"place": "Brest"}), "Final Answer: deep"]
        return Agent(role="One", goal="g", backstory="b", llm=ScriptedLLM(script), tools=self.get_mcp_tools("depth"))

    @agent
    def all(self):
        return Agent(role="All", goal="g", backstory="b", tools=self.get_mcp_tools())

    @task
    def look(self):
        return Task(description="d", expected_output="x", agent=self.one())

    @crew
    def crew(self):
        return Crew(agents=self.agents, tasks=self.tasks)

class Without(Harbour):
    mcp_server_params = None

class Wrong(Harbour):
    @agent
    def one(self):
        return Agent(role="One", goal="g", backstory="b", tools=self.get_mcp_tools("dept"))
"""


def test_a_project_has_the_tools_of_its_mcp_servers(load: Load, tmp_path: Path):
    module = load(f"from crewgraph import ToolUse\nNOTES = {str(tmp_path / 'notes')!r}\n{MCP}")
    harbour = module.Harbour()
    assert [one.name for one in harbour.one().tools] == ["depth"]
    assert [one.name for one in harbour.all().tools][:2] == ["depth", "note"]
    assert harbour.all().tools[0] is harbour.one().tools[0]
    assert harbour.all().tools[0].server.connect_timeout == 20
    assert harbour.crew().kickoff().raw == "deep"
    assert module.Without().all().tools == []
    with pytest.raises(DefinitionError, match=r"`Wrong.get_mcp_tools` got unknown names: `dept`. .*: `depth`, `note`"):
        module.Wrong().one()


def test_the_folder_of_a_project_is_reported(load: Load, tmp_path: Path):
    module = load(CREW, agents=AGENTS, tasks=TASKS)
    assert module.Paper.base_directory == tmp_path
    assert module.Paper.is_crew_class
