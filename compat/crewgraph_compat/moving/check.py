"""Find the CrewAI features that a project uses, and look up how crewgraph supports each of them."""

import ast
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from crewgraph import __version__
from crewgraph_compat.moving.dependencies.requirements import (
    environment_places,
    pipfile_lines,
    requirements_places,
    setup_cfg_places,
    setup_py_places,
)
from crewgraph_compat.moving.features import Feature, FeatureKind, Use
from crewgraph_compat.moving.reading.data_uses import json_uses, placed_uses, pyproject_uses, table_uses, yaml_uses
from crewgraph_compat.moving.reading.files import (
    FileKind,
    SourceFile,
    is_utf16,
    parse_python,
    project_files,
    read_error,
)
from crewgraph_compat.moving.reading.notebooks import Notebook, read_notebook
from crewgraph_compat.moving.reading.python_uses import imports_of, python_uses
from crewgraph_compat.moving.reading.returned import (
    classes_with_returns,
    informative_classes,
    merge_classes,
    return_types,
)
from crewgraph_compat.moving.reading.types import Imports, OwnClass
from crewgraph_compat.moving.states import FeatureState, Support, feature_state

SCHEMA = 1
"""Version of the data returned by `CheckResult.as_data`; raised when a key changes its meaning or is removed."""

_DATA: dict[FileKind, Callable[[str, str], list[Use]]] = {
    FileKind.yaml: yaml_uses,
    FileKind.json: json_uses,
    FileKind.pyproject: pyproject_uses,
    FileKind.pipfile: partial(table_uses, pipfile_lines),
    FileKind.requirements: partial(placed_uses, requirements_places),
    FileKind.setup_cfg: partial(placed_uses, setup_cfg_places),
    FileKind.setup_py: partial(placed_uses, setup_py_places),
    FileKind.environment: partial(placed_uses, environment_places),
}


@dataclass(frozen=True)
class UnreadableFile:
    """A file or notebook cell that could not be read, and why."""

    file: str
    line: int
    why: str


@dataclass(frozen=True)
class CheckedFeature:
    """A feature, its support in crewgraph, and where the project uses it."""

    feature: Feature
    state: FeatureState
    uses: tuple[Use, ...]


@dataclass
class CheckResult:
    """The CrewAI features that a project uses."""

    path: str
    files: int
    """Number of files that use at least one feature."""

    found: list[CheckedFeature]
    broken: list[UnreadableFile]

    def of(self, mark: Support) -> list[CheckedFeature]:
        """Return the features with this level of support, most used first."""
        return [item for item in self.found if item.state.mark is mark]

    def as_data(self) -> dict[str, Any]:
        """Return the result as JSON-compatible data; docs/moving.md documents the keys."""
        return {
            "schema": SCHEMA,
            "crewgraph": __version__,
            "path": self.path,
            "summary": {
                "files": self.files,
                "broken": len(self.broken),
                **{mark.value: len(self.of(mark)) for mark in Support},
            },
            "features": [_as_data(item) for item in self.found],
            "broken": [{"file": item.file, "line": item.line, "why": item.why} for item in self.broken],
        }


def _as_data(checked: CheckedFeature) -> dict[str, Any]:
    return {
        "feature": checked.feature.shown,
        "sort": checked.feature.sort.value,
        "state": checked.state.mark.value,
        "said": list(checked.state.sentences),
        "differences": [
            {
                "kind": row.kind.value,
                "what": row.row,
                "crewai": row.theirs,
                "crewgraph": row.here,
                "to_do": row.to_do,
            }
            for row in checked.state.differences
        ],
        "uses": [
            {"file": use.file, "line": use.line, **({"cell": use.cell} if use.cell else {})} for use in checked.uses
        ],
    }


@dataclass
class _Python:
    """A Python file or a notebook, parsed."""

    source: SourceFile
    tree: ast.AST
    imports: Imports
    notebook: Notebook | None = None


@dataclass
class _Project:
    broken: list[UnreadableFile] = field(default_factory=list[UnreadableFile])
    uses: list[Use] = field(default_factory=list[Use])
    python: list[_Python] = field(default_factory=list[_Python])
    classes: dict[str, OwnClass] = field(default_factory=dict[str, OwnClass])
    others: list[SourceFile] = field(default_factory=list[SourceFile])
    """Python files that do not mention CrewAI."""

    def take(self, source: SourceFile) -> None:
        """Read a file; one that cannot be read is recorded and does not stop the others."""
        if source.fault is not None:
            self.broken.append(UnreadableFile(source.shown, 1, f"the file cannot be opened: {source.fault.strerror}"))
        elif source.kind is FileKind.python and b"crewai" not in source.data and not is_utf16(source.data):
            self.others.append(source)
        elif source.kind in (FileKind.python, FileKind.notebook):
            self._try(self._take_python, source)
        elif source.kind in _DATA:
            self._try(self._take_data, source)

    def _try(self, read: Callable[[SourceFile], None], source: SourceFile) -> None:
        try:
            read(source)
        except (SyntaxError, ValueError, RecursionError) as error:
            self.broken.append(UnreadableFile(source.shown, *read_error(error, source.data)))

    def _take_data(self, source: SourceFile) -> None:
        self.uses += _DATA[source.kind](source.text, source.shown)

    def _take_python(self, source: SourceFile) -> None:
        notebook = read_notebook(source.text) if source.kind is FileKind.notebook else None
        if notebook is not None:
            self.broken += [UnreadableFile(source.shown, 1, f"cell {cell}: {why}") for cell, why in notebook.unread]
        tree = parse_python(source.text if notebook is None else notebook.program)
        imports = imports_of(tree)
        merge_classes(self.classes, classes_with_returns(tree, imports).items())
        self.python.append(_Python(source, tree, imports, notebook))

    def find(self) -> None:
        """Find the features that the Python files use, once the classes of all of them are known."""
        self.classes = informative_classes(self.classes)
        names = [name.encode() for name in self.classes]
        for source in self.others:
            if any(name in source.data for name in names):
                self._try(self._take_python, source)
        for item in self.python:
            self._try(partial(self._find_uses, item), item.source)

    def _find_uses(self, item: _Python, source: SourceFile) -> None:
        functions = return_types(item.tree, item.imports, self.classes)
        result = python_uses(item.tree, source.shown, item.imports, self.classes, functions)
        self._add(item, result)

    def _add(self, item: _Python, uses: Sequence[Use]) -> None:
        self.uses += uses if item.notebook is None else [_in_cell(use, item.notebook) for use in uses]


def _in_cell(use: Use, notebook: Notebook) -> Use:
    cell, line = notebook.cell_of(use.line)
    return Use(use.file, line, use.feature, cell)


def check_project(path: Path) -> CheckResult:
    """Return the CrewAI features used below a path, without importing or running anything.

    Raises:
        NoProject: There is no readable project or file at the path.
    """
    project = _Project()
    for source in project_files(path):
        project.take(source)
    project.find()
    return CheckResult(str(path), len({use.file for use in project.uses}), _grouped(project.uses), project.broken)


def _grouped(uses: Sequence[Use]) -> list[CheckedFeature]:
    """Group uses by displayed feature and support: a keyword may differ for some of its values only."""
    groups: dict[tuple[FeatureKind, str, FeatureState], list[Use]] = defaultdict(list)
    for use in uses:
        groups[use.feature.sort, use.feature.shown, feature_state(use.feature)].append(use)
    results = [CheckedFeature(used[0].feature, state, tuple(sorted(used))) for (*_, state), used in groups.items()]
    return sorted(results, key=lambda item: (-len(item.uses), item.feature))
