"""What agents.yaml and tasks.yaml hold, with the project's own agents, tools and models in the place of their names.

Names in agents.yaml and tasks.yaml that stand for members of the project.

YAML files whose entries know their lines.
"""

import difflib
import inspect
import warnings
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml
from yaml.parser import ParserError
from yaml.reader import ReaderError
from yaml.scanner import ScannerError

from crewgraph.definitions.base import ConfigSection
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import DefinitionError, Fault, UnknownName
from crewgraph.project.roles import Role, display_path, finished, folders, named, shelf_of

__all__ = [
    "AGENTS",
    "OF_AGENTS",
    "OF_TASKS",
    "TASKS",
    "ConfigReference",
    "Configuration",
    "ConfigurationAttribute",
    "Kind",
    "faults_of",
    "load_declared",
    "read_yaml",
    "resolved",
]


@dataclass(frozen=True)
class ConfigReference:
    """What a key of a configuration may name."""

    role: Role
    """The role of the members it names."""

    many: bool = False
    """Whether it names several."""

    open: bool = False
    """Whether a name that no member has means something else: a model's own name."""


OF_AGENTS: Mapping[str, ConfigReference] = {
    "llm": ConfigReference(Role.llm, open=True),
    "function_calling_llm": ConfigReference(Role.llm, open=True),
    "tools": ConfigReference(Role.tool, many=True),
    "step_callback": ConfigReference(Role.callback),
    "callbacks": ConfigReference(Role.callback, many=True),
    "cache_handler": ConfigReference(Role.cache_handler),
}
"""The keys of an agent that hold names."""

OF_TASKS: Mapping[str, ConfigReference] = {
    "agent": ConfigReference(Role.agent),
    "context": ConfigReference(Role.task, many=True),
    "tools": ConfigReference(Role.tool, many=True),
    "callback": ConfigReference(Role.callback),
    "callbacks": ConfigReference(Role.callback, many=True),
    "output_json": ConfigReference(Role.output_json),
    "output_pydantic": ConfigReference(Role.output_pydantic),
}
"""The keys of a task that hold names."""


def faults_of(cls: type, section: ConfigSection, references: Mapping[str, ConfigReference]) -> Iterator[Fault]:
    """Names in an entry that lead nowhere, and what stands where a name should."""
    for key, reference in references.items():
        given = section.get(key)
        where = f"{section.where(key)}: `{key}` of `{section.name}`"
        is_list = isinstance(given, (list, tuple))
        if is_list and not reference.many or isinstance(given, (dict, bool, int, float)):
            kind = "a list" if is_list else "a mapping" if isinstance(given, dict) else f"`{given}`"
            wanted = (
                f"the name of one {reference.role.noun}" if not reference.many else f"names of {reference.role.noun}s"
            )
            yield Fault(where=where, what=f"it is {kind}.", remedy=f"Write {wanted}.", code="no_name")
            continue
        for name in _names(given):
            if not reference.open and name not in named(cls, reference.role):
                yield _nowhere(cls, where, name, reference.role)


def _nowhere(cls: type, where: str, name: str, role: Role) -> Fault:
    there = named(cls, role)
    other = next((one for one in Role if name in named(cls, one)), None)
    what = f"`{cls.__name__}` has no {role.noun} `{name}`."
    if other is not None:
        what = f"`{name}` is a {other.noun} of `{cls.__name__}`, not a {role.noun}."
    near = difflib.get_close_matches(name, there, n=1)
    choice = (
        f"It has {', '.join(f'`{one}`' for one in there)}."
        if there
        else "It has none; write one, or take the name out."
    )
    remedy = f"Did you mean `{near[0]}`? {choice}" if near else choice
    return Fault(where=where, what=what, remedy=remedy, code="unknown_name")


def resolved(project: object, section: ConfigSection, references: Mapping[str, ConfigReference]) -> dict[str, Any]:
    """What stands in an entry in the place of names."""
    found: dict[str, object] = {}
    for key, reference in references.items():
        given = section.get(key)
        if not _names(given):
            continue
        if reference.many:
            found[key] = [one for item in _items(given) for one in _members(project, item, reference)]
        else:
            [found[key]] = _members(project, given, reference)
    return found


def _items(given: Any) -> list[object]:
    return list(cast(list[Any], given)) if isinstance(given, (list, tuple)) else [given]


def _names(given: Any) -> list[str]:
    return [one for one in _items(given) if isinstance(one, str)]


def _members(project: object, item: Any, reference: ConfigReference) -> list[object]:
    """What a name stands for: one object, or the tools of a `@tool` method that returns several."""
    if not isinstance(item, str) or item not in named(type(project), reference.role):
        return [item]
    member: Any = getattr(project, item)
    if reference.role is Role.callback:
        return [_callback(project, item, member)]
    made = member if isinstance(member, type) else finished(member())
    return list(cast(list[Any], made)) if reference.many and isinstance(made, (list, tuple)) else [made]


def _callback(project: object, name: str, method: Any) -> object:
    """A method that is told something, or the function that one without arguments makes."""
    parameters = inspect.signature(method).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL or (p.default is p.empty and p.kind is not p.VAR_KEYWORD) for p in parameters):
        return method
    made = shelf_of(project)
    if (Role.callback, name) not in made:
        function = finished(method())
        if not callable(function):
            raise DefinitionError(
                f"the @callback method `{type(project).__name__}.{name}` takes nothing and returned {function!r:.60}; let it "
                "take what it is told of, or return a function that does"
            )
        made[Role.callback, name] = function
    return made[Role.callback, name]


_MERGE = "tag:yaml.org,2002:merge"
_TEXT = "tag:yaml.org,2002:str"
_ADVICE = (
    "Indent with spaces; quote a text that holds `: ` or ` #`, or begins with a sign such as `{`, `[`, `*`, `@` or `%`"
)


def read_yaml(path: Path, shown: str) -> tuple[dict[str, Any], dict[str, int]]:
    """The entries of a file, each mapping as a `Section`, and the line of each entry.

    Args:
        path: where it is; read as UTF-8.
        shown: how messages name it.

    Raises:
        DefinitionError: it cannot be read, is no YAML, has a key twice, or is no mapping of names to values.
    """
    text = _text(path, shown)
    try:
        loader = yaml.SafeLoader(text)
        try:
            root = loader.get_single_node()
            lines = _lines_of_entries(root, shown)  # first: constructing merges what `<<` names into the nodes
            data = cast(dict[str, Any] | None, None if root is None else loader.construct_document(root))
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{shown}:{mark.line + 1}:{mark.column + 1}" if mark else shown
        what = ", ".join(filter(None, (error.context, error.problem)))
        advice = f". {_ADVICE}" if isinstance(error, (ParserError, ScannerError)) else ""
        raise DefinitionError(f"{place}: this is no YAML: {what}{advice}") from error
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise DefinitionError(f"{shown}:{line}: this is no YAML: it holds a control character; take it out") from error
    entries = {
        name: ConfigSection(cast(dict[str, Any], values), name=name, place=shown, lines=lines.get(name))
        if isinstance(values, dict)
        else values
        for name, values in (data or {}).items()
    }
    return entries, {name: of_keys[""] for name, of_keys in lines.items()}


def _text(path: Path, shown: str) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise DefinitionError(f"{shown}:{line}: the file is not UTF-8; save it as UTF-8") from error
    except OSError as error:
        raise DefinitionError(f"{shown}: the file cannot be read: {error.strerror or error}") from error


def _lines_of_entries(root: yaml.Node | None, shown: str) -> dict[str, dict[str, int]]:
    """The line of each key of each entry; that of the entry under ""."""
    if root is None or _is_empty(root):
        return {}
    if not isinstance(root, yaml.MappingNode):
        kind = "a list" if isinstance(root, yaml.SequenceNode) else "a text"
        raise DefinitionError(
            f"{shown}:{_line(root)}: the file holds {kind}. It has to hold names, each with its keys and values below it."
        )
    faults = [*_faults(root, shown, set())]
    if faults:
        raise DefinitionError(faults)
    nodes = {key.value: node for key, node in _pairs(root)}
    return {name: {**(_lines(nodes[name]) if name in nodes else {}), "": line} for name, line in _lines(root).items()}


def _is_empty(root: yaml.Node) -> bool:
    return isinstance(root, yaml.ScalarNode) and root.tag == "tag:yaml.org,2002:null"


def _faults(node: yaml.Node, shown: str, seen: set[int], depth: int = 0) -> Iterator[Fault]:
    """Keys that stand twice, and names of entries and keys that YAML does not read as texts."""
    if id(node) in seen:  # an alias
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for one in cast(list[yaml.Node], node.value):
            yield from _faults(one, shown, seen, depth + 1)
    first: dict[tuple[str, str], int] = {}
    for key, value in _pairs(node):
        name = str(key.value) if isinstance(key, yaml.ScalarNode) else "{...}"
        written = (key.tag, name)
        if written in first and isinstance(key, yaml.ScalarNode):
            what = f"`{name}` stands here for the second time, after line {first[written]}."
            yield Fault(where=f"{shown}:{_line(key)}", what=what, remedy="Keep one of them.")
        if depth < 2 and key.tag != _TEXT:
            what = f"YAML reads the name `{name}` as {key.tag.rpartition(':')[2]}, not as a text."
            yield Fault(where=f"{shown}:{_line(key)}", what=what, remedy="Put it into quotes.")
        first.setdefault(written, _line(key))
        yield from _faults(value, shown, seen, depth + 1)


def _lines(node: yaml.Node) -> dict[str, int]:
    """The line of each key of a mapping, from 1, those that it merges in included."""
    merged: dict[str, int] = {}
    for source in _merged(node):
        merged = {**_lines(source), **merged}
    return {**merged, **{str(key.value): _line(key) for key, _ in _pairs(node)}}


def _merged(node: yaml.Node) -> Iterator[yaml.Node]:
    for key, value in _all_pairs(node):
        if key.tag == _MERGE:
            yield from cast(list[yaml.Node], value.value) if isinstance(value, yaml.SequenceNode) else [value]


def _pairs(node: yaml.Node) -> list[tuple[yaml.Node, yaml.Node]]:
    """The keys and values that a mapping has itself."""
    return [(key, value) for key, value in _all_pairs(node) if key.tag != _MERGE]


def _all_pairs(node: yaml.Node) -> list[tuple[yaml.Node, yaml.Node]]:
    return node.value if isinstance(node, yaml.MappingNode) else []


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1


_TEXTS = ("role", "goal", "backstory", "description", "expected_output", "output_file", "name")


@dataclass(frozen=True)
class Kind:
    """Agents or tasks."""

    attribute: str
    """The attribute of a project that says where their configuration is, and then holds it."""

    path: str
    """Where it is if nothing is said."""

    references: Mapping[str, ConfigReference]
    """The keys that hold names of members."""


AGENTS = Kind("agents_config", "config/agents.yaml", OF_AGENTS)
TASKS = Kind("tasks_config", "config/tasks.yaml", OF_TASKS)

_resolving: ContextVar[tuple[tuple[int, str], ...]] = ContextVar("resolving", default=())


class Configuration(dict[str, Any]):
    """Entries by name; what an entry names is put in its place when the entry is first taken."""

    def __init__(self, entries: Mapping[str, object], project: object, kind: Kind, place: str) -> None:
        super().__init__(entries)
        self._project = project
        self._kind = kind
        self._place = place
        self._open = set(entries)

    def __getitem__(self, name: str) -> object:
        entry = super().__getitem__(name)
        if name in self._open:
            self._resolve(name, entry)
        return entry

    def __missing__(self, name: str) -> object:
        near = difflib.get_close_matches(str(name), self, n=1)
        hint = f" Did you mean `{near[0]}`?" if near else ""
        there = f" There are: {', '.join(f'`{one}`' for one in self)}." if self else ""
        raise UnknownName(f"{self._place} has no entry `{name}`.{hint}{there}")

    def _resolve(self, name: str, entry: ConfigSection) -> None:
        way = _resolving.get()
        if (id(self), name) in way:
            names = [one for owner, one in way[way.index((id(self), name)) :] if owner == id(self)]
            raise DefinitionError(
                f"{entry.where('context')}: `{name}` needs itself: {' needs '.join(f'`{one}`' for one in (*names, name))}. "
                "Take one of these names out."
            )
        token = _resolving.set((*way, (id(self), name)))
        try:
            entry.update(resolved(self._project, entry, self._kind.references))
        finally:
            _resolving.reset(token)
        self._open.discard(name)

    def get(self, name: str, default: object = None) -> Any:
        """An entry, or the default."""
        if name not in self:
            return default
        return self[name]

    def pop(self, name: str, *default: object) -> Any:
        """Take an entry out."""
        if name in self:
            self.__getitem__(name)
        return super().pop(name, *default)

    def values(self) -> Any:
        """All entries."""
        self._resolve_all()
        return super().values()

    def items(self) -> Any:
        """All names with their entries."""
        self._resolve_all()
        return super().items()

    def copy(self) -> dict[str, Any]:
        """A dict of the same entries."""
        return dict(self.items())

    def _resolve_all(self) -> None:
        for name in list(self):
            self.__getitem__(name)


class ConfigurationAttribute:
    """`agents_config` or `tasks_config`: a path or a dict on the class, the `Configuration` on its objects."""

    def __init__(self, kind: Kind, declared: object, folder: Path, *, is_given: bool) -> None:
        """Say where a configuration is.

        Args:
            kind: of agents or of tasks.
            declared: what the class says: a path or a dict.
            folder: the folder of the class that says so.
            is_given: whether it does say so.
        """
        self.kind = kind
        self.declared = declared
        self.folder = folder
        self.is_given = is_given

    def __get__(self, project: object | None, owner: type) -> object:
        if project is None:
            return self.declared
        shelf = shelf_of(project)
        name = self.kind.attribute
        if name not in shelf:
            shelf.setdefault(name, self._loaded(project))
        return shelf[name]

    def __set__(self, project: object, value: Any) -> None:
        project.__dict__[self.kind.attribute] = value
        shelf_of(project).pop(self.kind.attribute, None)

    def given(self, project: object) -> Any:
        """What the object says, else what the class says, else the usual path."""
        return project.__dict__.get(self.kind.attribute, self.declared)

    def names_a_file(self, project: object) -> bool:
        """Whether the object or its class says where the configuration is."""
        return self.is_given or self.kind.attribute in project.__dict__

    def _loaded(self, project: object) -> Configuration:
        kind, cls = self.kind, type(project)
        given = self.given(project)
        place = f"`{kind.attribute}` of `{cls.__name__}`"
        if isinstance(given, (str, Path)):
            path = self._path(cls, given)
            if path.is_file():
                place = display_path(path)
                entries, lines = read_yaml(path, place)
                _refuse(cls, entries, lines, kind, place)
                return Configuration(entries, project, kind, place)
            absent = f"there is no file {display_path(path)} for {place}"
            if self.names_a_file(project):
                warnings.warn(f"{absent}; it is taken as empty", stacklevel=user_stacklevel())
            return Configuration({}, project, kind, f"{absent}: it")
        if given is not None and not isinstance(given, Mapping):
            raise DefinitionError(f"{place} is {given!r:.60}; give the path of a YAML file, or a dict")
        entries = _sections(cast("Mapping[str, Any]", given or {}), place)
        _refuse(cls, entries, {}, kind, place)
        return Configuration(entries, project, kind, place)

    def _path(self, cls: type, given: str | Path) -> Path:
        """The file: below the class's folder, or that of a class above it."""
        candidates = [folder / given for folder in (*folders(cls, self.kind.attribute), self.folder)]
        return next((path for path in candidates if path.is_file()), candidates[0])


def load_declared(project: object) -> None:
    """Load the configurations that a project names, so that a missing or broken file is told.

    Raises:
        DefinitionError: a file cannot be used.
    """
    for kind in (AGENTS, TASKS):
        attribute = next(
            (vars(one)[kind.attribute] for one in type(project).__mro__ if kind.attribute in vars(one)), None
        )
        if isinstance(attribute, ConfigurationAttribute) and attribute.names_a_file(project):
            attribute.__get__(project, type(project))


def _sections(entries: Mapping[str, object], place: str) -> dict[str, object]:
    return {
        name: ConfigSection(cast(Mapping[str, Any], values), name=name, place=place)
        if isinstance(values, Mapping)
        else values
        for name, values in entries.items()
    }


def _refuse(cls: type, entries: Mapping[str, object], lines: Mapping[str, int], kind: Kind, place: str) -> None:
    """Refuse what cannot be used, all of it at once."""
    shapes: list[Fault] = []
    for name, entry in entries.items():
        shapes += _shape_faults(name, entry, f"{place}:{lines[name]}" if name in lines else place)
    sections = [entry for entry in entries.values() if isinstance(entry, ConfigSection)]
    names = [fault for section in sections for fault in faults_of(cls, section, kind.references)]
    if shapes or names:
        only_names = not shapes and all(fault.code == "unknown_name" for fault in names)
        raise (UnknownName if only_names else DefinitionError)([*shapes, *names])


def _shape_faults(name: str, entry: object, place: str) -> Iterator[Fault]:
    if not isinstance(entry, ConfigSection):
        what = "is empty" if entry is None else f"is {entry!r:.40}"
        remedy = "Write its keys and values below it, indented."
        yield Fault(where=f"{place}: `{name}`", what=f"it {what}.", remedy=remedy, code="no_mapping")
        return
    for key in _TEXTS:
        value = entry.get(key)
        if isinstance(value, dict) and list(cast(dict[str, Any], value).values()) == [None]:
            [word] = cast(dict[str, Any], value)
            what = f"YAML reads `{{{word}}}` at its beginning as a mapping."
            remedy = f"Put the text into quotes: `{key}: '{{{word}}}'`."
            yield Fault(where=f"{entry.where(key)}: `{key}` of `{name}`", what=what, remedy=remedy, code="no_text")
