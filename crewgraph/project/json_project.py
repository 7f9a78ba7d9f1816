"""Crews from JSON files: crew.jsonc, and agents/<name>.jsonc beside it."""

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from crewgraph.definitions.agent import Agent
from crewgraph.definitions.crew import Crew
from crewgraph.definitions.output import CrewOutput
from crewgraph.definitions.section import Section
from crewgraph.definitions.task import ConditionalTask, Task
from crewgraph.errors import DefinitionError, Fault
from crewgraph.llm.llm import LLM
from crewgraph.project.folder import shown
from crewgraph.project.jsonc import read_jsonc
from crewgraph.project.python_names import PythonNames

__all__ = ["load_agent", "load_crew", "load_crew_and_kickoff"]

_ENDINGS = (".jsonc", ".json")
_MODELS = ("llm", "function_calling_llm", "manager_llm", "planning_llm", "chat_llm")
_Agents = Mapping[str, Agent]
_Tasks = Mapping[str, Task]
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
    return _Project(path, Path(agents_dir) if agents_dir is not None else path.parent / "agents").crew()


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
    return _Parts(PythonNames(root)).agent(read_jsonc(path, shown(path)), path.stem, shown(path))


class _Parts:
    """Makes agents and tasks of what files hold."""

    def __init__(self, python: PythonNames) -> None:
        self._python = python

    def agent(self, values: Mapping[str, Any], name: str, place: str) -> Agent:
        settings: Any = values.get("settings") or {}
        if not isinstance(settings, dict):
            raise DefinitionError(f"{place}: `settings` of `{name}` is no object")
        given = {key: value for key, value in values.items() if key != "settings"} | cast("dict[str, Any]", settings)
        return Agent(config=self._section(Agent, given, name, place))  # pyright: ignore[reportCallIssue]

    def task(
        self, values: Mapping[str, Any], name: str, place: str, agents: Mapping[str, Agent], before: Mapping[str, Task]
    ) -> Task:
        given = dict(values)
        kinds: dict[str, type[Task]] = {"Task": Task, "ConditionalTask": ConditionalTask}
        kind = kinds.get(str(given.pop("type", "Task")))
        where = f"{place}: `{name}`"
        if kind is None:
            raise DefinitionError(f"{where} is of an unknown type; there are {', '.join(kinds)}")
        if given.get("agent") is not None:
            given["agent"] = _named(given["agent"], agents, f"{where}: `agent`", "agent that the crew lists")
        if given.get("context") is not None:
            if not isinstance(given["context"], list):
                raise DefinitionError(f"{where}: `context` is no list of names of tasks")
            names = cast("list[Any]", given["context"])
            given["context"] = [_named(one, before, f"{where}: `context`", "task before it") for one in names]
        section = self._section(kind, given, name, place)
        return kind(config=section)  # pyright: ignore[reportCallIssue]

    def _section(self, kind: type[BaseModel], given: Mapping[str, Any], name: str, place: str) -> Section:
        return Section(self.fields(kind, given, f"{place}: `{name}`"), name=name, place=place)

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
        return LLM(**values) if key in _MODELS else values


class _Project(_Parts):
    """The files of a crew."""

    def __init__(self, path: Path, agents: Path) -> None:
        super().__init__(PythonNames(path.parent))
        self._path = path
        self._agents = agents

    def crew(self) -> tuple[Crew, dict[str, Any]]:
        place = shown(self._path)
        values = read_jsonc(self._path, place)
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
        if not isinstance(name, str) or not _FILE_NAME.fullmatch(name):
            raise DefinitionError(
                f"{shown(self._path)}: {name!r} in `agents` is no name of a file in {shown(self._agents)}"
            )
        path = next((one for end in _ENDINGS if (one := self._agents / f"{name}{end}").is_file()), None)
        if path is None:
            tried = " nor ".join(f"{name}{end}" for end in _ENDINGS)
            raise FileNotFoundError(f"{shown(self._path)}: there is neither {tried} in {shown(self._agents)}")
        return self.agent(read_jsonc(path, shown(path)), name, shown(path))


def _list(values: dict[str, Any], key: str, place: str) -> list[Any]:
    found: Any = values.pop(key, None)
    if not isinstance(found, list) or not found:
        raise DefinitionError(f"{place}: `{key}` has to be a list with something in it")
    return cast("list[Any]", found)


def _named(name: Any, among: Mapping[str, Any], where: str, what: str) -> Any:
    if not isinstance(name, str) or name not in among:
        there = f"there are {', '.join(f'`{one}`' for one in among)}" if among else "there is none"
        raise DefinitionError(f"{where}: {name!r} is no {what}; {there}")
    return among[name]


def _unknown(kind: type[BaseModel], key: str, where: str) -> Fault:
    near = difflib.get_close_matches(key, list(kind.model_fields), n=1)
    remedy = f"Did you mean `{near[0]}`?" if near else "Take it out."
    return Fault(where=where, what=f"`{kind.__name__}` has no `{key}`.", remedy=remedy, code="unknown_key")
