"""Find the definitions of a project in a directory without importing it."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from crewgraph.errors import RunError
from crewgraph.schema import PlainDict

_SKIPPED = frozenset({"build", "dist", "node_modules", "site-packages", "test", "tests", "venv"})
"""Directories that hold no crews of the project."""

_CREW_PACKAGES = frozenset({"crewai", "crewgraph"})


@dataclass(frozen=True)
class ProjectDescription:
    """What the `pyproject.toml` of a project says."""

    name: str
    scripts: PlainDict
    """Entry points by script name, as "module:function"."""

    crewai: PlainDict
    """The table `[tool.crewai]`."""

    target: str | None
    """`target` of `[tool.crewgraph]`: the project's crew or flow."""

    @property
    def definition(self) -> str | None:
        """The file that declares the project's crew or flow; `crew.jsonc` or `crew.json` if it says none, and has one."""
        named = self.crewai.get("definition")
        files = (name for name in ("crew.jsonc", "crew.json") if Path(name).is_file())
        return named if isinstance(named, str) else next(files, None)

    @property
    def kind(self) -> str:
        """`crew` or `flow`; empty if the project does not say."""
        return str(self.crewai.get("type", ""))

    def run_scripts(self) -> list[tuple[str, str]]:
        """Return the scripts that may run the project, with their entry points: the usual names first, then its own name."""
        usual = ("kickoff", "run_crew") if self.kind == "flow" else ("run_crew", "kickoff")
        own = [name for name in self.scripts if self.name and _normal(name) == _normal(self.name)]
        return [(name, self.scripts[name]) for name in (*usual, *own) if isinstance(self.scripts.get(name), str)]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def read_project(folder: Path) -> ProjectDescription:
    """Read the `pyproject.toml` in a directory; without one, everything is empty.

    Raises:
        RunError: The file cannot be read.
    """
    path = folder / "pyproject.toml"
    try:
        config: PlainDict = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RunError(f"cannot read `{path.absolute()}`: {error}") from error
    tool, project = _table(config, "tool"), _table(config, "project")
    poetry = _table(tool, "poetry")
    target = _table(tool, "crewgraph").get("target")
    return ProjectDescription(
        name=str(project.get("name") or poetry.get("name") or ""),
        scripts={**_table(poetry, "scripts"), **_table(project, "scripts")},
        crewai=_table(tool, "crewai"),
        target=target if isinstance(target, str) else None,
    )


def _table(config: PlainDict, name: str) -> PlainDict:
    value = config.get(name)
    return cast("PlainDict", value) if isinstance(value, dict) else {}


def main_function(folder: Path, names: Sequence[str]) -> tuple[str, str] | None:
    """Return the module and name of the first of some functions that the project's `main.py` defines, or None.

    The `main.py` is in the directory, in its `src`, or in one package of either.
    """
    for root in _source_roots(folder):
        for path in (*sorted(root.glob("*/main.py")), root / "main.py"):
            functions = [item.name for item in _statements(path) if isinstance(item, _FUNCTIONS)]
            for name in names:
                if name in functions and _is_package(path.parent, root):
                    return _module_name(path, root), name
    return None


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _source_roots(folder: Path) -> list[Path]:
    return [root for root in (folder / "src", folder) if root.is_dir()]


def search_project() -> None:
    """Let the modules of the project in the current directory be imported."""
    for root in _source_roots(Path.cwd()):
        if str(root) not in sys.path:
            sys.path.insert(0, str(root))


def _is_package(folder: Path, root: Path) -> bool:
    return folder == root or folder.name.isidentifier() and folder.name not in _SKIPPED and folder.name != "src"


def _module_name(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts)


def _statements(path: Path) -> list[ast.stmt]:
    """Return the top-level statements of a file; none if it is missing or not valid Python."""
    try:
        return ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):  # the latter two: nested too deeply
        return []


def defined_targets(folder: Path) -> dict[str, list[str]]:
    """Return the crews and the flows that the Python files of a project define, as "module:name", by `crew` and `flow`."""
    targets: dict[str, list[str]] = {"crew": [], "flow": []}
    seen: set[Path] = set()
    for root in _source_roots(folder):
        for path in _python_files(root):
            if path not in seen:
                seen.add(path)
                for of, name in _defined(_statements(path)):
                    targets[of].append(f"{_module_name(path, root)}:{name}")
    return targets


def _python_files(root: Path) -> Iterator[Path]:
    for path in sorted(root.iterdir()):
        if path.is_file() and path.suffix == ".py" and path.stem.isidentifier():
            yield path
        elif _is_module_part(path):
            yield from _python_files(path)


def _is_module_part(folder: Path) -> bool:
    """Whether a folder may have modules of the project; one with its own `pyproject.toml` is another project."""
    is_named = folder.is_dir() and folder.name.isidentifier() and folder.name not in _SKIPPED
    return is_named and not (folder / "pyproject.toml").exists()


def _defined(statements: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Yield the crews and flows of a file: `@CrewBase` classes, flow classes, objects, and functions that return a crew."""
    if not any(_imports_crews(item) for item in statements):
        return
    for item in statements:
        if isinstance(item, ast.ClassDef):
            if any(_last_name(decorator) == "CrewBase" for decorator in item.decorator_list):
                yield "crew", item.name
            elif any(_last_name(base) == "Flow" for base in item.bases):
                yield "flow", item.name
        elif isinstance(item, ast.Assign) and isinstance(item.value, ast.Call):
            named = [target.id for target in item.targets if isinstance(target, ast.Name)]
            if named and _last_name(item.value) == "Crew":
                yield "crew", named[0]
        elif isinstance(item, ast.FunctionDef) and _returns_crew(item):
            yield "crew", item.name


def _imports_crews(item: ast.stmt) -> bool:
    if isinstance(item, ast.ImportFrom):
        return (item.module or "").partition(".")[0] in _CREW_PACKAGES
    return isinstance(item, ast.Import) and any(each.name.partition(".")[0] in _CREW_PACKAGES for each in item.names)


def _returns_crew(function: ast.FunctionDef) -> bool:
    """Whether a function can be called without arguments and returns a crew that it creates."""
    required = len(function.args.posonlyargs) + len(function.args.args) - len(function.args.defaults)
    if required or any(default is None for default in function.args.kw_defaults):
        return False
    crews = {
        target.id
        for item in ast.walk(function)
        if isinstance(item, ast.Assign) and isinstance(item.value, ast.Call) and _last_name(item.value) == "Crew"
        for target in item.targets
        if isinstance(target, ast.Name)
    }
    returned = [item.value for item in ast.walk(function) if isinstance(item, ast.Return)]
    return any(
        isinstance(value, ast.Call) and _last_name(value) == "Crew" or isinstance(value, ast.Name) and value.id in crews
        for value in returned
    )


def _last_name(node: ast.expr) -> str:
    while isinstance(node, (ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
