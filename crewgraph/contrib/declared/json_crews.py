"""Crews loaded from JSON files: crew.jsonc, and agents/<name>.jsonc next to it."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from crewgraph.agent import Agent, BaseAgent
from crewgraph.contrib.declared.names import PythonNames
from crewgraph.crew import Crew
from crewgraph.definitions.base import ConfigSection
from crewgraph.definitions.task.output import CrewOutput
from crewgraph.errors import DefinitionError, Fault
from crewgraph.llm.resolve import llm_from_name
from crewgraph.project.roles import display_path
from crewgraph.schema import PlainDict, PlainMapping, is_list, is_mapping, is_object
from crewgraph.task import ConditionalTask, Task
from crewgraph.text import suggestion

_STRING = r'"(?>(?:\\.|[^"\\])*)(?:"|\\?\Z)'
"""A string, or the rest of the text if it is never closed: read once."""

_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?(?:\*/|(?P<open>\Z))", re.DOTALL)
_COMMA = re.compile(rf"({_STRING})|(?P<open>,(?!\s*+[\]}}]))|,")
_VISIBLE = re.compile(r"[^\n]")


def strip_jsonc_comments(text: str) -> str:
    """Return JSON without comments and trailing commas, keeping every line and column in place."""
    for pattern in (_COMMENT, _COMMA):
        text = pattern.sub(_blank, text)
    return text


def _blank(match: re.Match[str]) -> str:
    """Return blanks for a comment or a trailing comma; other matches unchanged."""
    is_kept = match[1] is not None or match["open"] is not None
    return match[0] if is_kept else _VISIBLE.sub(" ", match[0])


def read_jsonc(path: Path, label: str) -> PlainDict:
    """Read the object in a JSON file.

    Args:
        path: The file, in UTF-8.
        label: Its name in error messages.

    Raises:
        FileNotFoundError: If there is no such file.
        DefinitionError: If it is not JSON, repeats a key, or holds something other than an object.
    """

    def unique(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
        values: dict[str, object] = {}
        for key, value in pairs:
            if key in values:
                raise DefinitionError(f"{label}: `{key}` occurs twice in one object; keep one of them")
            values[key] = value
        return values

    try:
        text = path.read_bytes().decode("utf-8-sig")
        data: object = json.loads(strip_jsonc_comments(text), object_pairs_hook=unique)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {label}") from None
    except UnicodeDecodeError as error:
        raise DefinitionError(f"{label}: the file is not UTF-8; save it as UTF-8") from error
    except json.JSONDecodeError as error:
        raise DefinitionError(f"{label}:{error.lineno}:{error.colno}: invalid JSON: {error.msg}") from error
    if not is_object(data):
        raise DefinitionError(f"{label}: the file must hold one object, `{{...}}`")
    return data


_LLM_FIELDS = ("llm", "function_calling_llm", "manager_llm", "planning_llm", "chat_llm")


class JSONParts:
    """Builds agents and tasks from the objects in a file."""

    def __init__(self, python: PythonNames) -> None:
        self._python = python

    def agent(self, values: Mapping[str, object], name: str, place: str) -> Any:
        settings: object = values.get("settings") or {}
        if not is_object(settings):
            raise DefinitionError(f"{place}: `settings` of `{name}` must be an object")
        fields = {key: value for key, value in values.items() if key not in ("settings", "type")}
        kind = self._kind(values.get("type") or "Agent", {"Agent": Agent}, BaseAgent, f"{place}: `{name}`")
        return kind(config=self._section(kind, fields | settings, name, place))

    def task(
        self,
        values: Mapping[str, object],
        name: str,
        place: str,
        agents: Mapping[str, object],
        previous: Mapping[str, Task],
    ) -> Task:
        fields = dict(values)
        where = f"{place}: `{name}`"
        kinds = {"Task": Task, "ConditionalTask": ConditionalTask}
        kind = self._kind(fields.pop("type", None) or "Task", kinds, Task, where)
        if fields.get("agent") is not None:
            fields["agent"] = _lookup(fields["agent"], agents, f"{where}: `agent`", "agent of the crew")
        if (names := fields.get("context")) is not None:
            if not is_list(names):
                raise DefinitionError(f"{where}: `context` must be a list of task names")
            fields["context"] = [_lookup(item, previous, f"{where}: `context`", "earlier task") for item in names]
        return kind(config=self._section(kind, fields, name, place))

    def _kind(self, value: Any, kinds: Mapping[str, object], base: type[object], where: str) -> Any:
        """Return the class that a `type` names: a built-in one, or a subclass from the project."""
        if isinstance(value, str) and value in kinds:
            return kinds[value]
        if not is_mapping(value) or list(value) != ["python"]:
            raise DefinitionError(f"{where} has an unknown `type`; available: {', '.join(kinds)}")
        kind = self._python.attribute(str(value["python"]), where)
        if not isinstance(kind, type) or not issubclass(kind, base):
            raise DefinitionError(f"{where}: `type` names {kind!r:.60}, which is not a subclass of `{base.__name__}`")
        return kind

    def _section(self, kind: type[BaseModel], values: Mapping[str, object], name: str, place: str) -> ConfigSection:
        return ConfigSection(self.fields(kind, values, f"{place}: `{name}`"), name=name, place=place)

    def fields(self, kind: type[BaseModel], values: Mapping[str, object], where: str) -> dict[str, Any]:
        """Return the values by field, with references to Python objects resolved.

        Raises:
            DefinitionError: If a key is not a field, or a reference cannot be resolved.
        """
        unknown = [key for key in values if key not in kind.model_fields]
        if unknown:
            raise DefinitionError([_unknown_key(kind, key, where) for key in unknown])
        return {key: self._value(key, value, f"{where}: `{key}`") for key, value in values.items()}

    def _value(self, key: str, value: Any, where: str) -> Any:
        if is_list(value):
            if key == "tools":
                return [self._python.tool(item, where) if isinstance(item, str) else item for item in value]
            return [self._value("", item, where) for item in value]
        if is_object(value) and list(value) == ["python"]:
            return self._python.attribute(str(value["python"]), where)
        return llm_from_name(value) if is_object(value) and key in _LLM_FIELDS else value


def _lookup(name: Any, choices: Mapping[str, object], where: str, kind: str) -> object:
    if not isinstance(name, str) or name not in choices:
        available = ", ".join(f"`{choice}`" for choice in choices) or "none"
        raise DefinitionError(f"{where}: {name!r} is not an {kind}; available: {available}")
    return choices[name]


def _unknown_key(kind: type[BaseModel], key: str, where: str) -> Fault:
    remedy = suggestion(key, kind.model_fields).strip() or "Remove it."
    return Fault(where=where, what=f"`{kind.__name__}` has no `{key}`.", remedy=remedy, code="unknown_key")


_SUFFIXES = (".jsonc", ".json")
_FILE_NAME = re.compile(r"[\w-]+")


def load_crew(source: str | Path, agents_dir: str | Path | None = None) -> tuple[Crew, PlainDict]:
    """Load a crew from a JSON file, which may contain comments.

    `agents` lists names of files in the folder agents/ next to it; each object in `tasks` names its agent. References to
    Python, `{"python": "module.attribute"}` and tools, are imported: load only files that you trust.

    Args:
        source: The file.
        agents_dir: The folder of the agents' files, if it is not agents/ next to `source`.

    Returns:
        The crew, and the default `inputs` of the file.

    Raises:
        FileNotFoundError: If a file is missing.
        DefinitionError: If a file does not describe a crew or an agent.
        ValidationError: If a value has the wrong type.
    """
    path = Path(source)
    place = display_path(path)
    folder = Path(agents_dir) if agents_dir is not None else path.parent / "agents"
    team = _Team(PythonNames(path.parent), place, lambda name: _agent_from_file(name, folder, place))
    return team.crew(read_jsonc(path, place))


def load_crew_from_definition(
    definition: BaseModel | Mapping[str, object],
    *,
    source: str | Path = "<inline crew>",
    project_root: str | Path | None = None,
) -> tuple[Crew, PlainDict]:
    """Build a crew from the contents of a crew file, with its agents inline.

    Args:
        definition: The keys of a crew; `agents` maps names to agents.
        source: Name of the definition in error messages.
        project_root: Folder in which references to Python are resolved; None is the current one.

    Returns:
        The crew, and the default `inputs`.

    Raises:
        DefinitionError: If the definition does not describe a crew.
        ValidationError: If a value has the wrong type.
    """
    values, place = _plain(definition), str(source)
    definitions: object = values.get("agents")
    if not is_object(definitions) or not definitions:
        raise DefinitionError(f"{place}: `agents` must be an object that maps names to agents")
    values["agents"] = [name for name in definitions if name != values.get("manager_agent")]
    python = PythonNames(Path(project_root) if project_root is not None else Path.cwd())
    return _Team(python, place, lambda name: _inline_agent(name, definitions, place)).crew(values)


def load_agent_from_definition(
    definition: BaseModel | Mapping[str, object],
    *,
    source: str | Path = "<inline agent>",
    project_root: str | Path | None = None,
) -> tuple[Agent, type[BaseModel] | None]:
    """Build an agent from the contents of an agent file.

    Args:
        definition: The keys of an agent, optionally with `response_format`; `input` is ignored and left to the caller.
        source: Name of the definition in error messages.
        project_root: Folder in which references to Python are resolved; None is the current one.

    Returns:
        The agent, and the model that `response_format` names.

    Raises:
        DefinitionError: If the definition does not describe an agent.
        ValidationError: If a value has the wrong type.
    """
    values, place = _plain(definition), str(source)
    python = PythonNames(Path(project_root) if project_root is not None else Path.cwd())
    response_format = values.pop("response_format", None)
    values.pop("input", None)
    model = (
        None
        if response_format is None
        else python.attribute(str(response_format["python"]), f"{place}: `response_format`")
    )
    return JSONParts(python).agent(values, str(values.get("role") or "agent"), place), model


def _plain(definition: BaseModel | Mapping[str, object]) -> PlainDict:
    """Return the keys that a definition sets."""
    return (
        definition.model_dump(exclude_none=True, exclude_unset=True)
        if isinstance(definition, BaseModel)
        else {**definition}
    )


def load_crew_and_kickoff(crew_path: str | Path, input_overrides: Mapping[str, object] | None = None) -> CrewOutput:
    """Load a crew and run it with the inputs of its file, updated with `input_overrides`."""
    crew, inputs = load_crew(crew_path)
    return crew.kickoff({**inputs, **(input_overrides or {})})


def load_agent(source: str | Path) -> Agent:
    """Load an agent from a JSON file; custom tools are in tools/ next to the file, or next to its folder agents/.

    Raises:
        FileNotFoundError: If there is no such file.
        DefinitionError: If the file does not describe an agent.
        ValidationError: If a value has the wrong type.
    """
    path = Path(source)
    root = path.parent.parent if path.parent.name == "agents" else path.parent
    return JSONParts(PythonNames(root)).agent(read_jsonc(path, display_path(path)), path.stem, display_path(path))


class _Team(JSONParts):
    """Builds a crew with its agents and tasks."""

    def __init__(self, python: PythonNames, place: str, find_agent: "_FindAgent") -> None:
        super().__init__(python)
        self._place = place
        self._find_agent = find_agent

    def crew(self, values: dict[str, object]) -> tuple[Crew, PlainDict]:
        place = self._place
        inputs: object = values.pop("inputs", None) or {}
        if not is_object(inputs):
            raise DefinitionError(f"{place}: `inputs` must be an object of names and values")
        agents = {name: self._agent(name) for name in _list(values, "agents", place)}
        tasks: dict[str, Task] = {}
        ordered: list[Task] = []
        for number, item in enumerate(_list(values, "tasks", place)):
            if not is_object(item):
                raise DefinitionError(f"{place}: `tasks[{number}]` must be an object")
            name = str(item.get("name") or f"tasks[{number}]")
            ordered.append(self.task(item, name, place, agents, tasks))
            tasks[name] = ordered[-1]
        if values.get("manager_agent") is not None:
            name = str(values["manager_agent"])
            values["manager_agent"] = agents.get(name) or self._agent(name)
        fields = self.fields(Crew, values, place)
        try:
            return Crew(agents=list(agents.values()), tasks=ordered, **fields), inputs
        except ValidationError as error:
            error.add_note(f"in {place}")
            raise

    def _agent(self, name: Any) -> Agent:
        values, place = self._find_agent(name)
        return self.agent(values, str(name), place)


_FindAgent = Callable[[Any], tuple[dict[str, Any], str]]
"""Maps an agent's name to its definition and the place to report in errors."""


def _inline_agent(name: Any, agents: PlainMapping, place: str) -> tuple[dict[str, object], str]:
    if not isinstance(name, str) or not isinstance(agents.get(name), dict):
        raise DefinitionError(f"{place}: `agents` has no agent {name!r}")
    return agents[name], f"{place}: agents"


def _agent_from_file(name: Any, folder: Path, place: str) -> tuple[dict[str, object], str]:
    if not isinstance(name, str) or not _FILE_NAME.fullmatch(name):
        raise DefinitionError(f"{place}: {name!r} in `agents` is not the name of a file in {display_path(folder)}")
    path = next((file for suffix in _SUFFIXES if (file := folder / f"{name}{suffix}").is_file()), None)
    if path is None:
        candidates = " nor ".join(f"{name}{suffix}" for suffix in _SUFFIXES)
        raise FileNotFoundError(f"{place}: found neither {candidates} in {display_path(folder)}")
    return read_jsonc(path, display_path(path)), display_path(path)


def _list(values: dict[str, object], key: str, place: str) -> list[Any]:
    items: object = values.pop(key, None)
    if not is_list(items) or not items:
        raise DefinitionError(f"{place}: `{key}` must be a non-empty list")
    return items
