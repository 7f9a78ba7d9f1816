"""agents.yaml and tasks.yaml: reading, validation, and resolution of the names of project members.

`read_yaml` reads a file and keeps the line of each entry for error messages. `Configuration` replaces the names of agents,
tools and models with the project's own objects when an entry is first read.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from inspect import getattr_static
from pathlib import Path
from typing import Any, cast

import yaml
from yaml.parser import ParserError
from yaml.reader import ReaderError
from yaml.scanner import ScannerError

from crewgraph.annotations import signature_of
from crewgraph.core.loops.bridge import resolved
from crewgraph.definitions.base import ConfigSection
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import DefinitionError, Fault, UnknownName
from crewgraph.project.roles import (
    Role,
    base_directories,
    display_path,
    names_with_role,
    project_cache,
)
from crewgraph.schema import PlainDict, PlainMapping, is_mapping
from crewgraph.scoped import scoped
from crewgraph.text import suggestion


@dataclass(frozen=True)
class ConfigReference:
    """The kind of project member that a configuration key may name."""

    role: Role
    """The role of the named members."""

    many: bool = False
    """Whether the key takes a list of names."""

    open: bool = False
    """Whether names of no member are allowed, such as the name of a model."""


AGENT_REFERENCES: Mapping[str, ConfigReference] = {
    "llm": ConfigReference(Role.llm, open=True),
    "function_calling_llm": ConfigReference(Role.llm, open=True),
    "tools": ConfigReference(Role.tool, many=True),
    "step_callback": ConfigReference(Role.callback),
    "callbacks": ConfigReference(Role.callback, many=True),
    "cache_handler": ConfigReference(Role.cache_handler),
}
"""The keys of an agent that name members."""

TASK_REFERENCES: Mapping[str, ConfigReference] = {
    "agent": ConfigReference(Role.agent),
    "context": ConfigReference(Role.task, many=True),
    "tools": ConfigReference(Role.tool, many=True),
    "callback": ConfigReference(Role.callback),
    "callbacks": ConfigReference(Role.callback, many=True),
    "output_json": ConfigReference(Role.output_json),
    "output_pydantic": ConfigReference(Role.output_pydantic),
}
"""The keys of a task that name members."""


def find_reference_faults(
    cls: type, section: ConfigSection, references: Mapping[str, ConfigReference]
) -> Iterator[Fault]:
    """Yield a fault for each unknown name in an entry, and for each value that is not a name."""
    for key, reference in references.items():
        value = section.get(key)
        location = f"{section.where(key)}: `{key}` of `{section.name}`"
        is_list = isinstance(value, (list, tuple))
        if is_list and not reference.many or isinstance(value, (dict, bool, int, float)):
            kind = "a list" if is_list else "a mapping" if isinstance(value, dict) else f"`{value}`"
            expected = (
                f"the name of one {reference.role.noun}" if not reference.many else f"names of {reference.role.noun}s"
            )
            yield Fault(where=location, what=f"it is {kind}.", remedy=f"Write {expected}.", code="no_name")
            continue
        for name in _names(value):
            if not reference.open and name not in names_with_role(cls, reference.role):
                yield _unknown_name_fault(cls, location, name, reference.role)


def _unknown_name_fault(cls: type, location: str, name: str, role: Role) -> Fault:
    members = names_with_role(cls, role)
    other_role = next((candidate for candidate in Role if name in names_with_role(cls, candidate)), None)
    problem = f"`{cls.__name__}` has no {role.noun} `{name}`."
    if other_role is not None:
        problem = f"`{name}` is a {other_role.noun} of `{cls.__name__}`, not a {role.noun}."
    choice = (
        f"It has {', '.join(f'`{member}`' for member in members)}."
        if members
        else "It has none; add one, or remove the name."
    )
    remedy = f"{suggestion(name, members)} {choice}".strip()
    return Fault(where=location, what=problem, remedy=remedy, code="unknown_name")


def resolve_references(
    project: object, section: ConfigSection, references: Mapping[str, ConfigReference]
) -> dict[str, Any]:
    """Return the values of an entry's keys that name members, with the names replaced by the members' objects."""
    values: dict[str, object] = {}
    for key, reference in references.items():
        value = section.get(key)
        if not _names(value):
            continue
        if reference.many:
            values[key] = [member for item in _items(value) for member in _resolve_item(project, item, reference)]
        else:
            [values[key]] = _resolve_item(project, value, reference)
    return values


def _items(value: object) -> list[object]:
    return list(cast(list[Any], value)) if isinstance(value, (list, tuple)) else [value]


def _names(value: Any) -> list[str]:
    return [item for item in _items(value) if isinstance(item, str)]


def _resolve_item(project: object, item: Any, reference: ConfigReference) -> list[object]:
    """Return the objects for a name: one object, or all tools of a `@tool` method that returns several."""
    if not isinstance(item, str) or item not in names_with_role(type(project), reference.role):
        return [item]
    member = getattr(project, item)
    if reference.role is Role.callback:
        return [_resolve_callback(project, item, member)]
    value = member if isinstance(member, type) else resolved(member())
    return list(cast(list[Any], value)) if reference.many and isinstance(value, (list, tuple)) else [value]


def _resolve_callback(project: object, name: str, method: Any) -> object:
    """Return a `@callback` method, or the function that it returns if it takes no arguments."""
    parameters = signature_of(method).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL or (p.default is p.empty and p.kind is not p.VAR_KEYWORD) for p in parameters):
        return method
    cache = project_cache(project)
    if (Role.callback, name) not in cache:
        function = resolved(method())
        if not callable(function):
            raise DefinitionError(
                f"the `@callback` method `{type(project).__name__}.{name}` takes no arguments and returned {function!r:.60}; "
                "add a parameter for the step or output, or return a function that has one"
            )
        cache[Role.callback, name] = function
    return cache[Role.callback, name]


_MERGE_TAG = "tag:yaml.org,2002:merge"
_STR_TAG = "tag:yaml.org,2002:str"
_MOST_VALUES = 100_000
_YAML_HINT = "Indent with spaces; quote texts with `: ` or ` #` in them, or a leading `{`, `[`, `*`, `@` or `%`"


def read_yaml(path: Path, label: str) -> tuple[dict[str, Any], dict[str, int]]:
    """Read a YAML file.

    Args:
        path: The file, in UTF-8.
        label: The file's name in messages.

    Returns:
        The entries by name, with each mapping as a `ConfigSection`, and the line of each entry.

    Raises:
        DefinitionError: The file cannot be read, is not valid YAML, or would be too large with its aliases written out.

    The last of duplicate keys counts, and a file that is not a mapping is empty; each is a warning.
    """
    root, data = parse_yaml(_read_text(path, label), label, lambda root: _check_names(root, label))
    if not isinstance(root, yaml.MappingNode):
        return {}, {}
    lines = {str(key.value): {**_lines(node), "": _key_line(key)} for key, node in _pairs(root)}
    return _sections(data, label, lines), {name: of_keys[""] for name, of_keys in lines.items()}


def parse_yaml(
    text: str, label: str, check: Callable[[yaml.Node | None], object] = lambda root: None
) -> tuple[yaml.Node | None, Any]:
    """Parse a YAML document.

    Args:
        text: The document.
        label: Its name in messages.
        check: Called with the document's nodes, before keys are merged into them.

    Returns:
        The nodes, with merged keys, and the data; None for the data of a document that is not a mapping.

    Raises:
        DefinitionError: It is not valid YAML, or would be too large with its aliases written out.
    """
    try:
        loader = yaml.SafeLoader(text)
        try:
            root = loader.get_single_node()
            _check_number_of_values(root, label)
            check(root)
            return root, loader.construct_document(root) if isinstance(root, yaml.MappingNode) else None
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{label}:{mark.line + 1}:{mark.column + 1}" if mark else label
        problem = ", ".join(filter(None, (error.context, error.problem)))
        hint = f". {_YAML_HINT}" if isinstance(error, (ParserError, ScannerError)) else ""
        raise DefinitionError(f"{place}: invalid YAML: {problem}{hint}") from error
    except RecursionError:
        raise DefinitionError(f"{label}: the file is nested too deeply; write it with fewer levels") from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise DefinitionError(
            f"{label}:{line}: invalid YAML: the file contains a control character; remove it"
        ) from error


def _read_text(path: Path, label: str) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise DefinitionError(f"{label}:{line}: the file is not UTF-8; save it as UTF-8") from error
    except OSError as error:
        raise DefinitionError(f"{label}: the file cannot be read: {error.strerror or error}") from error


def _check_names(root: yaml.Node | None, label: str) -> None:
    """Raise one error for all names of entries and keys that are no strings; warn if there are no names."""
    if root is None or root.tag == "tag:yaml.org,2002:null":
        return
    if not isinstance(root, yaml.MappingNode):
        kind = "a list" if isinstance(root, yaml.SequenceNode) else "a text"
        warnings.warn(
            f"{label}:{_key_line(root)}: the file contains {kind} and is not used. It must contain names, each with its keys and "
            "values below it.",
            stacklevel=user_stacklevel(),
        )
    elif faults := [*_yaml_faults(root, label, set())]:
        raise DefinitionError(faults)


def _check_number_of_values(root: yaml.Node | None, label: str) -> None:
    """Check how many values a file holds with its aliases written out: each copy is validated, and shown in errors.

    Raises:
        DefinitionError: It holds too many, or itself.
    """
    sizes: dict[int, int] = {}

    def size(node: yaml.Node) -> int:
        known = sizes.get(id(node))
        if known is None:
            sizes[id(node)] = _MOST_VALUES  # within itself it has no end
            known = sizes[id(node)] = 1 + sum(map(size, _below(node)))
            if known > _MOST_VALUES:
                raise DefinitionError(
                    f"{label}:{_key_line(node)}: with its aliases (`*name`) written out, this holds more than {_MOST_VALUES:,} "
                    "values, or itself. Write out what is meant."
                )
        return known

    if root is not None:
        size(root)


def _below(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in cast(list[tuple[yaml.Node, yaml.Node]], node.value) for part in pair]
    return cast(list[yaml.Node], node.value) if isinstance(node, yaml.SequenceNode) else []


def _yaml_faults(node: yaml.Node, label: str, seen: set[int], depth: int = 0) -> Iterator[Fault]:
    """Warn of each duplicate key; yield a fault for each name of an entry or key that YAML does not read as a string."""
    if id(node) in seen:  # an alias
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for item in cast(list[yaml.Node], node.value):
            yield from _yaml_faults(item, label, seen, depth + 1)
    first_lines: dict[tuple[str, str], int] = {}
    for key, value in _pairs(node):
        name = str(key.value) if isinstance(key, yaml.ScalarNode) else "{...}"
        tagged_name = (key.tag, name)
        if tagged_name in first_lines and isinstance(key, yaml.ScalarNode):
            warnings.warn(
                f"{label}:{_key_line(key)}: `{name}` replaces line {first_lines[tagged_name]}. Remove one of them.",
                stacklevel=user_stacklevel(),
            )
        if depth < 2 and key.tag != _STR_TAG:
            problem = f"YAML reads the name `{name}` as {key.tag.rpartition(':')[2]}, not as a string."
            yield Fault(where=f"{label}:{_key_line(key)}", what=problem, remedy="Quote it.")
        first_lines.setdefault(tagged_name, _key_line(key))
        yield from _yaml_faults(value, label, seen, depth + 1)


def _lines(node: yaml.Node) -> dict[str, int]:
    """Return the line of each key of a mapping, from 1."""
    return {str(key.value): _key_line(key) for key, _ in _pairs(node)}


def _pairs(node: yaml.Node) -> list[tuple[yaml.Node, yaml.Node]]:
    """Return the keys and values of a mapping, without merge keys."""
    pairs: list[tuple[yaml.Node, yaml.Node]] = node.value if isinstance(node, yaml.MappingNode) else []
    return [(key, value) for key, value in pairs if key.tag != _MERGE_TAG]


def _key_line(node: yaml.Node) -> int:
    return node.start_mark.line + 1


_TEXT_KEYS = ("role", "goal", "backstory", "description", "expected_output", "output_file", "name")


@dataclass(frozen=True)
class Kind:
    """The kind of a configuration: of agents or of tasks."""

    attribute: str
    """The project attribute that is set to the configuration's path, and returns the loaded configuration."""

    path: str
    """The default path."""

    references: Mapping[str, ConfigReference]
    """The keys that name members."""


AGENTS = Kind("agents_config", "config/agents.yaml", AGENT_REFERENCES)
TASKS = Kind("tasks_config", "config/tasks.yaml", TASK_REFERENCES)

_resolving: ContextVar[tuple[tuple[int, str], ...]] = ContextVar("crewgraph_resolving", default=())


class Configuration(dict[str, Any]):
    """Entries by name; the names in an entry are resolved when the entry is first read."""

    def __init__(self, entries: Mapping[str, object], project: object, kind: Kind, place: str) -> None:
        super().__init__(entries)
        self._project = project
        self._kind = kind
        self._place = place
        self._unresolved = set(entries)

    def __getitem__(self, name: str) -> object:
        entry = super().__getitem__(name)
        if name in self._unresolved:
            self._resolve(name, entry)
        return entry

    def __fspath__(self) -> str:
        """Return the path as the class has it, for programs that read the file themselves."""
        return str(getattr(type(self._project), self._kind.attribute))

    def __missing__(self, name: str) -> object:
        known = f" There are: {', '.join(f'`{entry}`' for entry in self)}." if self else ""
        raise UnknownName(f"{self._place} has no entry `{name}`.{suggestion(str(name), self)}{known}")

    def _resolve(self, name: str, entry: ConfigSection) -> None:
        path = _resolving.get()
        if (id(self), name) in path:
            names = [key for owner, key in path[path.index((id(self), name)) :] if owner == id(self)]
            raise DefinitionError(
                f"{entry.where('context')}: `{name}` depends on itself: {' needs '.join(f'`{key}`' for key in (*names, name))}. "
                "Remove one of these names."
            )
        with scoped(_resolving, (*path, (id(self), name))):
            entry.update(resolve_references(self._project, entry, self._kind.references))
        self._unresolved.discard(name)

    def get(self, name: str, default: object = None) -> Any:
        """Return an entry, or the default."""
        if name not in self:
            return default
        return self[name]

    def pop(self, name: str, *default: object) -> Any:
        """Remove an entry and return it."""
        if name in self:
            self.__getitem__(name)
        return super().pop(name, *default)

    def values(self) -> Any:
        """Return all entries."""
        self._resolve_all()
        return super().values()

    def items(self) -> Any:
        """Return all names with their entries."""
        self._resolve_all()
        return super().items()

    def copy(self) -> dict[str, Any]:
        """Return a plain dict of the entries."""
        return dict(self.items())

    def _resolve_all(self) -> None:
        for name in list(self):
            self.__getitem__(name)


class ConfigurationAttribute:
    """`agents_config` or `tasks_config`: a path or a dict on the class, the `Configuration` on its objects."""

    def __init__(self, kind: Kind, declared: object, folder: Path, *, is_declared: bool) -> None:
        """Create the attribute.

        Args:
            kind: Whether the configuration is of agents or of tasks.
            declared: The value on the class: a path or a dict.
            folder: The directory of the class that sets the value.
            is_declared: Whether a class sets the value; False for the default path.
        """
        self.kind = kind
        self.declared = declared
        self.folder = folder
        self.is_declared = is_declared

    def __get__(self, project: object | None, owner: type) -> object:
        if project is None:
            return self.declared
        cache = project_cache(project)
        name = self.kind.attribute
        if name not in cache:
            cache.setdefault(name, self._load(project))
        return cache[name]

    def __set__(self, project: object, value: Any) -> None:
        project.__dict__[self.kind.attribute] = value
        project_cache(project).pop(self.kind.attribute, None)

    def is_explicit(self, project: object) -> bool:
        """Whether the object or its class sets the configuration."""
        return self.is_declared or self.kind.attribute in project.__dict__

    def _load(self, project: object) -> Configuration:
        kind, cls = self.kind, type(project)
        source: Any = project.__dict__.get(kind.attribute, self.declared)
        place = f"`{kind.attribute}` of `{cls.__name__}`"
        if isinstance(source, (str, Path)):
            path = self._path(cls, source)
            if path.is_file():
                place = display_path(path)
                entries, lines = read_yaml(path, place)
                _validate(cls, entries, lines, kind, place)
                return Configuration(entries, project, kind, place)
            missing = f"the file {display_path(path)} for {place} does not exist"
            if self.is_explicit(project):
                warnings.warn(f"{missing}; using an empty configuration", stacklevel=user_stacklevel())
            return Configuration({}, project, kind, f"{missing}: it")
        if source is not None and not isinstance(source, Mapping):
            raise DefinitionError(f"{place} is {source!r:.60}; set it to the path of a YAML file or to a dict")
        entries = _sections(cast("PlainMapping", source or {}), place, {})
        _validate(cls, entries, {}, kind, place)
        return Configuration(entries, project, kind, place)

    def _path(self, cls: type, source: str | Path) -> Path:
        """Return the file below the directory of the class or of one of its bases."""
        candidates = [folder / source for folder in (*base_directories(cls, self.kind.attribute), self.folder)]
        return next((path for path in candidates if path.is_file()), candidates[0])


def load_configurations(project: object) -> None:
    """Load the configurations that a project sets, to report missing or invalid files early.

    Raises:
        DefinitionError: A configuration is invalid.
    """
    for kind in (AGENTS, TASKS):
        attribute = getattr_static(type(project), kind.attribute, None)
        if isinstance(attribute, ConfigurationAttribute) and attribute.is_explicit(project):
            attribute.__get__(project, type(project))


def _sections(entries: PlainMapping, place: str, lines: Mapping[str, dict[str, int]]) -> PlainDict:
    return {
        name: ConfigSection(values, name=name, place=place, lines=lines.get(name)) if is_mapping(values) else values
        for name, values in entries.items()
    }


def _validate(cls: type, entries: Mapping[str, object], lines: Mapping[str, int], kind: Kind, place: str) -> None:
    """Raise one error for all faults of a configuration."""
    shape_faults: list[Fault] = []
    for name, entry in entries.items():
        shape_faults += _shape_faults(name, entry, f"{place}:{lines[name]}" if name in lines else place)
    sections = [entry for entry in entries.values() if isinstance(entry, ConfigSection)]
    name_faults = [fault for section in sections for fault in find_reference_faults(cls, section, kind.references)]
    if shape_faults or name_faults:
        only_unknown_names = not shape_faults and all(fault.code == "unknown_name" for fault in name_faults)
        raise (UnknownName if only_unknown_names else DefinitionError)([*shape_faults, *name_faults])


def _shape_faults(name: str, entry: object, place: str) -> Iterator[Fault]:
    if not isinstance(entry, ConfigSection):
        problem = "is empty" if entry is None else f"is {entry!r:.40}"
        remedy = "Put its keys and values below it, indented."
        yield Fault(where=f"{place}: `{name}`", what=f"it {problem}.", remedy=remedy, code="no_mapping")
        return
    for key in _TEXT_KEYS:
        value = entry.get(key)
        if isinstance(value, dict) and list(cast(PlainDict, value).values()) == [None]:
            [placeholder] = cast(PlainDict, value)
            problem = f"YAML reads the leading `{{{placeholder}}}` as a mapping."
            remedy = f"Quote the text: `{key}: '{{{placeholder}}}'`."
            yield Fault(where=f"{entry.where(key)}: `{key}` of `{name}`", what=problem, remedy=remedy, code="no_text")
