"""Loading the crew or flow that a command works on.

The target is given with `--target`, or set in the project's `pyproject.toml`. The `.env` file of the current directory is
loaded first.
"""

import importlib
import importlib.util
import inspect
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from crewgraph.annotations import signature_of
from crewgraph.cli.definitions import DefinitionsLoader, definitions_only
from crewgraph.cli.discovery import defined_targets, read_project, search_project
from crewgraph.crew import Crew
from crewgraph.errors import RunError
from crewgraph.flow.flow import Flow
from crewgraph.project.env_file import load_env
from crewgraph.text import suggestion

_TARGET_FORMAT = "pass `path/to/file.py:name` or `package.module:name`"

Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        help="The crew or flow, as `file.py:name` or `package.module:name`; the name may be an object, a class or a function "
        "that returns one. By default the `target` in `[tool.crewgraph]` of `pyproject.toml`, or the project's only crew or "
        "flow.",
        show_default=False,
    ),
]
"""The `--target` option of commands that work on a crew or a flow."""

CrewTarget = Annotated[
    str | None,
    typer.Option(
        "--target",
        help="The crew, as `file.py:name` or `package.module:name`; the name may be an object, a class or a function that "
        "returns one. By default the `target` in `[tool.crewgraph]` of `pyproject.toml`, or the project's only crew.",
        show_default=False,
    ),
]
"""The `--target` option of commands that work on a crew."""


def load_target(target: str | None, *, is_run: bool = True, graphs: bool = False) -> Any:
    """Load a crew or a flow.

    Args:
        target: The value of `--target`; None for the target of the project.
        graphs: Whether it may be a LangGraph graph, compiled or not.
        is_run: Whether the modules run unchanged; else runs of crews and flows at their top level are left out.

    Raises:
        RunError: The target cannot be found, or is neither a crew nor a flow.
    """
    with nullcontext() if is_run else definitions_only(Path.cwd()):
        path, imported = _import_target(target, None, is_run=is_run)
        value = _defined_by(path, imported)
        is_graph = hasattr(value, "get_graph") or hasattr(value, "add_node")
        return value if graphs and is_graph else _crew_or_flow(path, value)


def load_factory(target: str | None) -> Any:
    """Load what gives a crew or a flow to a worker: a function or class to call for each run, or the object itself.

    Args:
        target: The value of `--target`; None for the target of the project.

    Raises:
        RunError: The target cannot be found, or gives neither a crew nor a flow.
    """
    path, imported = _import_target(target, None)
    _crew_or_flow(path, _defined_by(path, imported))
    return imported


def _crew_or_flow(path: str, value: Any) -> "Crew | Flow[Any]":
    if not issubclass(type(value), (Crew, Flow)):
        raise RunError(f"`{path}` is {value!r:.80}, which is neither a crew nor a flow; {_TARGET_FORMAT} of one.")
    return value


def load_crew_target(target: str | None) -> Crew:
    """Load a crew: an object, a `@CrewBase` class, or a function without parameters.

    Args:
        target: The value of `--target`; None for the target of the project.

    Raises:
        RunError: The target cannot be found, or is not a crew.
    """
    path, imported = _import_target(target, "crew")
    value = _defined_by(path, imported)
    if not isinstance(value, Crew):
        raise RunError(
            f"`{path}` is {value!r:.80}, which is not a crew; {_TARGET_FORMAT} of a `Crew`, a `@CrewBase` class or a function "
            "that returns one."
        )
    return value


def _defined_by(path: str, imported: object) -> Any:
    """Return an object, or what a class or function returns; of a `@CrewBase` object, the crew."""
    value: Any = imported
    if inspect.isclass(imported) or inspect.isroutine(imported):
        try:
            signature_of(imported).bind()
        except TypeError as error:
            raise RunError(
                f"`{path}` cannot be called without arguments ({error}); pass a function without parameters that returns the "
                "crew or flow."
            ) from None
        except ValueError:  # a builtin without a signature
            pass
        value = imported()
    build: Any = None if issubclass(type(value), (Crew, Flow)) else getattr(value, "crew", None)
    return build() if callable(build) else value


def _import_target(target: str | None, kind: str | None, *, is_run: bool = True) -> tuple[str, object]:
    path = target or project_target(kind)
    module, colon, name = path.rpartition(":")
    is_declaration = Path(path).suffix in _DECLARATIONS
    if not is_declaration and not (module and colon and name):
        raise RunError(f"invalid target `{path}`; {_TARGET_FORMAT}.")
    from crewgraph_compat import install

    install()  # the module, or a tool of the declaration, may import crewai
    load_env()
    if is_declaration:
        return path, _declared(path)
    value: object = _import_module(module, is_run=is_run)
    for part in name.split("."):
        if not hasattr(value, part):
            why = (
                "" if is_run else ' without what it runs at its top level; guard that with `if __name__ == "__main__":`'
            )
            raise RunError(
                f"`{module}` has no attribute `{part}`{why}; {_TARGET_FORMAT}.{suggestion(part, dir(value))}"
            )
        value = getattr(value, part)
    return path, value


_DECLARATIONS = (".json", ".jsonc", ".yaml", ".yml")


def _declared(path: str) -> object:
    """Return the crew or flow that a file declares; a flow's is named as such by the project, or has a schema."""
    if read_project(Path.cwd()).kind == "crew" or Path(path).stem == "crew":
        from crewgraph.project import load_crew

        return load_crew(path)[0]
    return Flow.from_declaration(path=path)


def project_target(kind: str | None = None, *, option: str = "--target ") -> str:
    """Return the target that the project in the current directory names, or the only one that it defines.

    Args:
        kind: `crew` or `flow`; None for either. Flows then come before crews, which they run, unless the project is a crew.
        option: The option that takes a target, with a space behind it, for the error.

    Raises:
        RunError: The project names none, and defines none or several.
    """
    folder = Path.cwd()
    project = read_project(folder)
    if target := project.target or project.definition:
        return target
    defined = defined_targets(folder)
    kinds = [kind] if kind is not None else ["crew", "flow"] if project.kind == "crew" else ["flow", "crew"]
    targets = next((defined[of] for of in kinds if defined[of]), list[str]())
    if len(targets) == 1:
        return targets[0]
    found = f", and this directory defines {', '.join(f'`{item}`' for item in targets)}" if targets else ""
    example = targets[0] if targets else "package.module:name"
    raise RunError(
        f'no {kind or "crew or flow"} given{found}: pass one, as in `{option}{example}`, or set `target = "{example}"` under '
        f"`[tool.crewgraph]` in `{folder / 'pyproject.toml'}`"
    )


def _import_module(name: str, *, is_run: bool) -> ModuleType:
    search_project()
    if not name.endswith(".py"):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise  # the module exists, but one of its imports does not
            raise RunError(
                f"module `{name}` not found in `{Path.cwd()}`, in its `src` directory or on Python's path"
            ) from error
    path = Path(name).absolute()
    if not path.is_file():
        raise RunError(f"file `{path}` does not exist")
    sys.path.insert(0, str(path.parent))
    loader = None if is_run else DefinitionsLoader(path.stem, str(path))
    spec = importlib.util.spec_from_file_location(path.stem, path, loader=loader)
    assert spec is not None and spec.loader is not None  # the file ends in .py
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
