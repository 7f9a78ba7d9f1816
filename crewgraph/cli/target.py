"""The crew or flow a command works on: named on the command line, or by the project it is called in.

A `.env` of the folder is read before.
"""

import importlib
import importlib.util
import inspect
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.flow.flow import Flow
from crewgraph.errors import RunError
from crewgraph.lazy import lazy
from crewgraph.project.env_file import load_env

__all__ = ["Target", "target_crew", "target_flow", "target_of_either"]


if TYPE_CHECKING:
    from crewgraph_compat import install
else:
    install = lazy("crewgraph_compat:install")

_FORM = "write `path/to/file.py:name` or `package.module:name`"

Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        help="The crew or flow: `file.py:name` or `package.module:name`, where the name is an object, a class or a function that "
        "makes one. Without it: `target` of `[tool.crewgraph]` in `pyproject.toml`.",
        show_default=False,
    ),
]
"""The option of a command that works on a crew or a flow."""


def target_of_either(named: str | None) -> "Crew | Flow":
    """The crew or the flow of that name; see `target_crew`.

    Raises:
        RunError: there is none; says what was looked at.
    """
    where, made = _made(named)
    if not isinstance(made, (Crew, Flow)):
        raise RunError(f"`{where}` is {made!r:.80}, neither crew nor flow; {_FORM} of one.")
    return cast("Crew | Flow", made)


def target_crew(named: str | None) -> Crew:
    """The crew of that name: an object, a `@CrewBase` class, or a function without parameters.

    Raises:
        RunError: there is none; says what was looked at.
    """
    where, made = _made(named)
    if not isinstance(made, Crew):
        raise RunError(
            f"`{where}` is {made!r:.80}, no crew; {_FORM} of a Crew, a @CrewBase class or a function that gives one."
        )
    return made


def target_flow(named: str | None) -> Flow:
    """The flow of that name: an object, a class, or a function without parameters.

    Raises:
        RunError: there is none; says what was looked at.
    """
    where, found = _found(named)
    made: object = found() if inspect.isclass(found) or inspect.isroutine(found) else found
    if not isinstance(made, Flow):
        raise RunError(f"`{where}` is {made!r:.80}, no flow; {_FORM} of a Flow or of a function that gives one.")
    return cast("Flow", made)


def _made(named: str | None) -> tuple[str, Any]:
    """What a name stands for, made where it is a class or a function, and the crew of a `@CrewBase` class."""
    where, found = _found(named)
    made: Any = found() if inspect.isclass(found) or inspect.isroutine(found) else found
    if not isinstance(made, (Crew, Flow)) and callable(getattr(made, "crew", None)):
        made = made.crew()
    return where, cast("Any", made)


def _found(named: str | None) -> tuple[str, object]:
    where = named or _of_project()
    module, colon, name = where.rpartition(":")
    if not (module and colon and name):
        raise RunError(f"`{where}` names nothing; {_FORM}.")
    install()  # its module may be one of CrewAI's
    load_env()
    found: object = _module(module)
    for part in name.split("."):
        if not hasattr(found, part):
            raise RunError(f"there is no `{part}` in `{module}`; {_FORM}.")
        found = getattr(found, part)
    return where, found


def _of_project() -> str:
    path = Path("pyproject.toml")
    try:
        described = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    except tomllib.TOMLDecodeError as error:
        raise RunError(f"`{path.absolute()}` cannot be read: {error}") from error
    target: object = described.get("tool", {}).get("crewgraph", {}).get("target")
    if not isinstance(target, str):
        raise RunError(
            f"which crew or flow? Give `--target file.py:name`, or let `pyproject.toml` in `{Path.cwd()}` say\n\n"
            '[tool.crewgraph]\ntarget = "package.module:name"'
        )
    return target


def _module(named: str) -> ModuleType:
    for folder in (Path.cwd() / "src", Path.cwd()):
        if folder.is_dir() and str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    if not named.endswith(".py"):
        try:
            return importlib.import_module(named)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{named}.".startswith(f"{error.name}."):
                raise  # the module is there, and imports something that is not
            raise RunError(
                f"there is no module `{named}` in `{Path.cwd()}`, in `src` below it, or on Python's path"
            ) from error
    path = Path(named).absolute()
    if not path.is_file():
        raise RunError(f"there is no file `{path}`")
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None  # of a file that ends in .py
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
