"""Crews from JSON files: crew.jsonc, and agents/<name>.jsonc beside it."""

import difflib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from crewgraph.contrib.declared.jsonc import read_jsonc
from crewgraph.contrib.declared.names import PythonNames
from crewgraph.definitions.agent.agent import Agent, BaseAgent
from crewgraph.definitions.base import ConfigSection
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.task.output import CrewOutput
from crewgraph.definitions.task.task import ConditionalTask, Task
from crewgraph.errors import DefinitionError, Fault
from crewgraph.llm.resolve import llm_from_name
from crewgraph.project.roles import display_path

__all__ = [
    "JSONParts",
    "load_agent",
    "load_agent_from_definition",
    "load_crew",
    "load_crew_and_kickoff",
    "load_crew_from_definition",
]

_MODELS = ("llm", "function_calling_llm", "manager_llm", "planning_llm", "chat_llm")


class JSONParts:
    """Makes agents and tasks of what files hold."""

    def __init__(self, python: PythonNames) -> None:
        self._python = python

    def agent(self, values: Mapping[str, Any], name: str, place: str) -> Any:
        settings: Any = values.get("settings") or {}
        if not isinstance(settings, dict):
            raise DefinitionError(f"{place}: `settings` of `{name}` is no object")
        given = {key: value for key, value in values.items() if key not in ("settings", "type")}
        kind = self._kind(values.get("type") or "Agent", {"Agent": Agent}, BaseAgent, f"{place}: `{name}`")
        return kind(config=self._section(kind, given | cast("dict[str, Any]", settings), name, place))

    def task(
        self, values: Mapping[str, Any], name: str, place: str, agents: Mapping[str, Any], before: Mapping[str, Task]
    ) -> Task:
        given = dict(values)
        where = f"{place}: `{name}`"
        kinds = {"Task": Task, "ConditionalTask": ConditionalTask}
        kind = self._kind(given.pop("type", None) or "Task", kinds, Task, where)
        if given.get("agent") is not None:
            given["agent"] = _named(given["agent"], agents, f"{where}: `agent`", "agent that the crew lists")
        if given.get("context") is not None:
            if not isinstance(given["context"], list):
                raise DefinitionError(f"{where}: `context` is no list of names of tasks")
            names = cast("list[Any]", given["context"])
            given["context"] = [_named(one, before, f"{where}: `context`", "task before it") for one in names]
        section = self._section(kind, given, name, place)
        return kind(config=section)

    def _kind(self, given: Any, kinds: Mapping[str, Any], base: type[Any], where: str) -> Any:
        """The class that a `type` names: one of ours, or one of the project's own that is made of it."""
        if isinstance(given, str) and given in kinds:
            return kinds[given]
        if not isinstance(given, Mapping) or list(cast("Mapping[str, Any]", given)) != ["python"]:
            raise DefinitionError(f"{where} is of an unknown type; there are {', '.join(kinds)}")
        made = self._python.attribute(str(cast("Mapping[str, Any]", given)["python"]), where)
        if not isinstance(made, type) or not issubclass(made, base):
            raise DefinitionError(f"{where}: `type` names {made!r:.60}, which is no subclass of `{base.__name__}`")
        return made

    def _section(self, kind: type[BaseModel], given: Mapping[str, Any], name: str, place: str) -> ConfigSection:
        return ConfigSection(self.fields(kind, given, f"{place}: `{name}`"), name=name, place=place)

    def fields(self, kind: type[BaseModel], given: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Values by field, with objects in the place of names.

        Raises:
            DefinitionError: a key is no field, or a name leads nowhere.
        """
        unknown = [key for key in given if key not in kind.model_fields]
        if unknown:
            raise DefinitionError([_unknown(kind, key, where) for key in unknown])
        return {key: self._value(key, value, f"{where}: `{key}`") for key, value in given.items()}

    def _value(self, key: str, value: Any, where: str) -> Any:
        if isinstance(value, list):
            values = cast("list[Any]", value)
            if key == "tools":
                return [self._python.tool(one, where) if isinstance(one, str) else one for one in values]
            return [self._value("", one, where) for one in values]
        if not isinstance(value, dict):
            return value
        values = cast("dict[str, Any]", value)
        if list(values) == ["python"]:
            return self._python.attribute(str(values["python"]), where)
        return llm_from_name(values) if key in _MODELS else values


def _named(name: Any, among: Mapping[str, Any], where: str, what: str) -> Any:
    if not isinstance(name, str) or name not in among:
        there = f"there are {', '.join(f'`{one}`' for one in among)}" if among else "there is none"
        raise DefinitionError(f"{where}: {name!r} is no {what}; {there}")
    return among[name]


def _unknown(kind: type[BaseModel], key: str, where: str) -> Fault:
    near = difflib.get_close_matches(key, list(kind.model_fields), n=1)
    remedy = f"Did you mean `{near[0]}`?" if near else "Take it out."
    return Fault(where=where, what=f"`{kind.__name__}` has no `{key}`.", remedy=remedy, code="unknown_key")


_ENDINGS = (".jsonc", ".json")
_FILE_NAME = re.compile(r"[\w-]+")


def load_crew(source: str | Path, agents_dir: str | Path | None = None) -> tuple[Crew, dict[str, Any]]:
    """A crew from a JSON file, with comments or without.

    Its `agents` are names of files in the folder agents/ beside it, its `tasks` objects with the names of agents. Names of
    Python, `{"python": "module.attribute"}` and tools, are imported: load only files that you trust.

    Args:
        source: the file.
        agents_dir: the folder of the agents.

    Returns:
        The crew, and the default `inputs` of the file.

    Raises:
        FileNotFoundError: a file is missing.
        DefinitionError: a file cannot be used.
        ValidationError: a value has a wrong type.
    """
    path = Path(source)
    place = display_path(path)
    folder = Path(agents_dir) if agents_dir is not None else path.parent / "agents"
    team = _Team(PythonNames(path.parent), place, lambda name: _of_file(name, folder, place))
    return team.crew(read_jsonc(path, place))


def load_crew_from_definition(
    definition: BaseModel | Mapping[str, Any],
    *,
    source: str | Path = "<inline crew>",
    project_root: str | Path | None = None,
) -> tuple[Crew, dict[str, Any]]:
    """A crew from what a file of `load_crew` holds, with the agents themselves in it.

    Args:
        definition: the keys of a crew; `agents` is an object of agents by name.
        source: what messages call it.
        project_root: the folder that names of Python begin at; the current one where None.

    Returns:
        The crew, and the default `inputs`.

    Raises:
        DefinitionError: it cannot be used.
        ValidationError: a value has a wrong type.
    """
    values, place = _plain(definition), str(source)
    agents: Any = values.get("agents")
    if not isinstance(agents, dict) or not agents:
        raise DefinitionError(f"{place}: `agents` has to be an object of agents by name")
    described = cast("dict[str, Any]", agents)
    values["agents"] = [name for name in described if name != values.get("manager_agent")]
    python = PythonNames(Path(project_root) if project_root is not None else Path.cwd())
    return _Team(python, place, lambda name: _of_definition(name, described, place)).crew(values)


def load_agent_from_definition(
    definition: BaseModel | Mapping[str, Any],
    *,
    source: str | Path = "<inline agent>",
    project_root: str | Path | None = None,
) -> tuple[Agent, type[BaseModel] | None]:
    """An agent from what a file of `load_agent` holds, and the model of the answers that are wanted of it.

    Args:
        definition: the keys of an agent, with `response_format` perhaps; `input` is the caller's to use.
        source: what messages call it.
        project_root: the folder that names of Python begin at; the current one where None.

    Raises:
        DefinitionError: it cannot be used.
        ValidationError: a value has a wrong type.
    """
    values, place = _plain(definition), str(source)
    python = PythonNames(Path(project_root) if project_root is not None else Path.cwd())
    form: Any = values.pop("response_format", None)
    values.pop("input", None)
    model = None if form is None else python.attribute(str(form["python"]), f"{place}: `response_format`")
    return JSONParts(python).agent(values, str(values.get("role") or "agent"), place), model


def _plain(definition: BaseModel | Mapping[str, Any]) -> dict[str, Any]:
    """What a definition says, without what it leaves open."""
    return (
        definition.model_dump(exclude_none=True, exclude_unset=True)
        if isinstance(definition, BaseModel)
        else {**definition}
    )


def load_crew_and_kickoff(crew_path: str | Path, input_overrides: Mapping[str, Any] | None = None) -> CrewOutput:
    """Load a crew and run it, with the inputs of its file and others over them."""
    crew, inputs = load_crew(crew_path)
    return crew.kickoff({**inputs, **(input_overrides or {})})


def load_agent(source: str | Path) -> Agent:
    """An agent from a JSON file; its own tools lie in tools/ beside the file, or beside its folder agents/.

    Raises:
        FileNotFoundError: there is no such file.
        DefinitionError: the file cannot be used.
        ValidationError: a value has a wrong type.
    """
    path = Path(source)
    root = path.parent.parent if path.parent.name == "agents" else path.parent
    return JSONParts(PythonNames(root)).agent(read_jsonc(path, display_path(path)), path.stem, display_path(path))


class _Team(JSONParts):
    """The parts of a crew."""

    def __init__(self, python: PythonNames, place: str, described: "_Described") -> None:
        super().__init__(python)
        self._place = place
        self._described = described

    def crew(self, values: dict[str, Any]) -> tuple[Crew, dict[str, Any]]:
        place = self._place
        given: Any = values.pop("inputs", None) or {}
        if not isinstance(given, dict):
            raise DefinitionError(f"{place}: `inputs` is no object of names and values")
        inputs = cast("dict[str, Any]", given)
        agents = {name: self._agent(name) for name in _list(values, "agents", place)}
        tasks: dict[str, Task] = {}
        made: list[Task] = []
        for number, one in enumerate(_list(values, "tasks", place)):
            if not isinstance(one, dict):
                raise DefinitionError(f"{place}: `tasks[{number}]` is no object")
            fields = cast("dict[str, Any]", one)
            name = str(fields.get("name") or f"tasks[{number}]")
            made.append(self.task(fields, name, place, agents, tasks))
            tasks[name] = made[-1]
        if values.get("manager_agent") is not None:
            name = str(values["manager_agent"])
            values["manager_agent"] = agents.get(name) or self._agent(name)
        fields = self.fields(Crew, values, place)
        try:
            return Crew(agents=list(agents.values()), tasks=made, **fields), inputs
        except ValidationError as error:
            error.add_note(f"in {place}")
            raise

    def _agent(self, name: Any) -> Agent:
        values, place = self._described(name)
        return self.agent(values, str(name), place)


_Described = Callable[[Any], tuple[dict[str, Any], str]]
"""Of an agent's name, what it is, and where that stands."""


def _of_definition(name: Any, agents: Mapping[str, Any], place: str) -> tuple[dict[str, Any], str]:
    if not isinstance(name, str) or not isinstance(agents.get(name), dict):
        raise DefinitionError(f"{place}: there is no agent {name!r} in `agents`")
    return agents[name], f"{place}: agents"


def _of_file(name: Any, folder: Path, place: str) -> tuple[dict[str, Any], str]:
    if not isinstance(name, str) or not _FILE_NAME.fullmatch(name):
        raise DefinitionError(f"{place}: {name!r} in `agents` is no name of a file in {display_path(folder)}")
    path = next((one for end in _ENDINGS if (one := folder / f"{name}{end}").is_file()), None)
    if path is None:
        tried = " nor ".join(f"{name}{end}" for end in _ENDINGS)
        raise FileNotFoundError(f"{place}: there is neither {tried} in {display_path(folder)}")
    return read_jsonc(path, display_path(path)), display_path(path)


def _list(values: dict[str, Any], key: str, place: str) -> list[Any]:
    found: Any = values.pop(key, None)
    if not isinstance(found, list) or not found:
        raise DefinitionError(f"{place}: `{key}` has to be a list with something in it")
    return cast("list[Any]", found)
