"""What agents.yaml and tasks.yaml hold, with the project's own agents, tools and models in the place of their names."""

import difflib
import warnings
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from crewgraph.definitions.section import Section
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import DefinitionError, Fault, UnknownName
from crewgraph.project.folder import folders, shown
from crewgraph.project.memo import shelf_of
from crewgraph.project.references import OF_AGENTS, OF_TASKS, Reference, faults_of, resolved
from crewgraph.project.yaml_file import read_yaml

__all__ = ["AGENTS", "TASKS", "Configuration", "ConfigurationAttribute", "Kind", "load_declared"]

_TEXTS = ("role", "goal", "backstory", "description", "expected_output", "output_file", "name")


@dataclass(frozen=True)
class Kind:
    """Agents or tasks."""

    attribute: str
    """The attribute of a project that says where their configuration is, and then holds it."""

    path: str
    """Where it is if nothing is said."""

    references: Mapping[str, Reference]
    """The keys that hold names of members."""


AGENTS = Kind("agents_config", "config/agents.yaml", OF_AGENTS)
TASKS = Kind("tasks_config", "config/tasks.yaml", OF_TASKS)

_resolving: ContextVar[tuple[tuple[int, str], ...]] = ContextVar("resolving", default=())


class Configuration(dict[str, Any]):
    """Entries by name; what an entry names is put in its place when the entry is first taken."""

    def __init__(self, entries: Mapping[str, Any], project: object, kind: Kind, place: str) -> None:
        super().__init__(entries)
        self._project = project
        self._kind = kind
        self._place = place
        self._open = set(entries)

    def __getitem__(self, name: str) -> Any:
        entry = super().__getitem__(name)
        if name in self._open:
            self._resolve(name, entry)
        return entry

    def __missing__(self, name: str) -> Any:
        near = difflib.get_close_matches(str(name), self, n=1)
        hint = f" Did you mean `{near[0]}`?" if near else ""
        there = f" There are: {', '.join(f'`{one}`' for one in self)}." if self else ""
        raise UnknownName(f"{self._place} has no entry `{name}`.{hint}{there}")

    def _resolve(self, name: str, entry: Section) -> None:
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

    def get(self, name: str, default: Any = None) -> Any:
        """An entry, or the default."""
        if name not in self:
            return default
        return self[name]

    def pop(self, name: str, *default: Any) -> Any:
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

    def __init__(self, kind: Kind, declared: Any, folder: Path, *, is_given: bool) -> None:
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

    def __get__(self, project: object | None, owner: type) -> Any:
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
                place = shown(path)
                entries, lines = read_yaml(path, place)
                _refuse(cls, entries, lines, kind, place)
                return Configuration(entries, project, kind, place)
            absent = f"there is no file {shown(path)} for {place}"
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


def _sections(entries: Mapping[str, Any], place: str) -> dict[str, Any]:
    return {
        name: Section(cast(Mapping[str, Any], values), name=name, place=place)
        if isinstance(values, Mapping)
        else values
        for name, values in entries.items()
    }


def _refuse(cls: type, entries: Mapping[str, Any], lines: Mapping[str, int], kind: Kind, place: str) -> None:
    """Refuse what cannot be used, all of it at once."""
    shapes: list[Fault] = []
    for name, entry in entries.items():
        shapes += _shape_faults(name, entry, f"{place}:{lines[name]}" if name in lines else place)
    sections = [entry for entry in entries.values() if isinstance(entry, Section)]
    names = [fault for section in sections for fault in faults_of(cls, section, kind.references)]
    if shapes or names:
        only_names = not shapes and all(fault.code == "unknown_name" for fault in names)
        raise (UnknownName if only_names else DefinitionError)([*shapes, *names])


def _shape_faults(name: str, entry: Any, place: str) -> Iterator[Fault]:
    if not isinstance(entry, Section):
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
