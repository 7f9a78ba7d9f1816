"""What a project uses of CrewAI, and how it stands with each on crewgraph."""

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

__all__ = ["SCHEMA", "CheckResult", "CheckedFeature", "UnreadableFile", "check_project"]

SCHEMA = 1
"""The version of what `Checked.as_data` gives; it is raised when a key changes its meaning or goes."""

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
    """A file, or a cell of a notebook, that could not be read."""

    file: str
    line: int
    why: str


@dataclass(frozen=True)
class CheckedFeature:
    """A feature, how it stands with it, and where it is used."""

    feature: Feature
    state: FeatureState
    uses: tuple[Use, ...]


@dataclass
class CheckResult:
    """What a project uses."""

    path: str
    files: int
    """How many files use something."""

    found: list[CheckedFeature]
    broken: list[UnreadableFile]

    def of(self, mark: Support) -> list[CheckedFeature]:
        """The features with which it stands so, the most used first."""
        return [item for item in self.found if item.state.mark is mark]

    def as_data(self) -> dict[str, Any]:
        """All of it as data for JSON; docs/moving.md says what the keys mean."""
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


def _as_data(found: CheckedFeature) -> dict[str, Any]:
    rows = found.state.differences
    return {
        "feature": found.feature.shown,
        "sort": found.feature.sort.value,
        "state": found.state.mark.value,
        "said": list(found.state.said),
        "differences": [
            {"what": row.row, "crewai_1_2": row.old, "crewai_1_15": row.new, "crewgraph": row.here} for row in rows
        ],
        "uses": [
            {"file": use.file, "line": use.line, **({"cell": use.cell} if use.cell else {})} for use in found.uses
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
    """Python files that do not name CrewAI."""

    def take(self, source: SourceFile) -> None:
        """Read a file; what cannot be read is told, and does not stop the others."""
        if source.fault is not None:
            self.broken.append(UnreadableFile(source.shown, 1, f"it cannot be opened: {source.fault.strerror}"))
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
        """Find what the Python files use, once the classes of all of them are known."""
        self.classes = informative_classes(self.classes)
        names = [name.encode() for name in self.classes]
        for source in self.others:
            if any(name in source.data for name in names):
                self._try(self._take_python, source)
        for item in self.python:
            functions = return_types(item.tree, item.imports, self.classes)
            result = python_uses(item.tree, item.source.shown, item.imports, self.classes, functions)
            self.uses += result if item.notebook is None else [_in_cell(use, item.notebook) for use in result]


def _in_cell(use: Use, notebook: Notebook) -> Use:
    cell, line = notebook.cell_of(use.line)
    return Use(use.file, line, use.feature, cell)


def check_project(path: Path) -> CheckResult:
    """What is used of CrewAI below a path; nothing of it is imported or run.

    Raises:
        NoProject: there is nothing at the path.
    """
    project = _Project()
    for source in project_files(path):
        project.take(source)
    project.find()
    return CheckResult(str(path), len({use.file for use in project.uses}), _grouped(project.uses), project.broken)


def _grouped(uses: Sequence[Use]) -> list[CheckedFeature]:
    """Uses by what is shown of their feature and how it stands: one keyword may differ with one value alone."""
    groups: dict[tuple[FeatureKind, str, FeatureState], list[Use]] = defaultdict(list)
    for use in uses:
        groups[use.feature.sort, use.feature.shown, feature_state(use.feature)].append(use)
    results = [CheckedFeature(used[0].feature, state, tuple(sorted(used))) for (*_, state), used in groups.items()]
    return sorted(results, key=lambda item: (-len(item.uses), item.feature))
