"""`crewgraph create`: a new project that runs, and whose test passes, as it stands."""

import shutil
from enum import StrEnum
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from crewgraph import __version__
from crewgraph.cli.project_name import ProjectName
from crewgraph.errors import RunError

__all__ = ["Kind", "create"]

_ENDING = ".tmpl"
_SAID_OTHERWISE = {"gitignore": ".gitignore", "env.example": ".env.example"}
"""Files whose names would mean something where the templates are."""


class Kind(StrEnum):
    """What a project is."""

    crew = "crew"
    flow = "flow"


def create(
    kind: Annotated[Kind, typer.Argument(help="What to make.", show_default=False)],
    name: Annotated[str, typer.Argument(help='What it is called: "My Crew" becomes the package `my_crew`.')],
    path: Annotated[Path, typer.Option("--path", help="The folder to make it in.")] = Path(),
) -> None:
    """Make a project: a crew, or a flow with a crew inside. It has a test that needs no key.

    Its folder has the package's name, and must not be there yet.
    """
    named = ProjectName.of(name)
    folder = path / named.package
    _write(folder, kind, _slots(kind, named))
    typer.echo(
        f"Made `{folder}`. To try it:\n\n"
        f"  cd {folder}\n"
        "  pip install -e '.[dev]'\n"
        "  pytest                    # needs no key\n"
        "  cp .env.example .env      # fill in your key\n"
        f"  crewgraph run -m {named.package}.main"
    )


def _slots(kind: Kind, named: ProjectName) -> dict[str, str]:
    return {
        "kind": kind.value,
        "package": named.package,
        "distribution": named.distribution,
        "title": named.title,
        "version": __version__,
        "class": named.a_class(kind.value.capitalize()),
        "crew_class": named.a_class("Crew"),
        "state_class": named.a_class("State"),
    }


def _write(folder: Path, kind: Kind, slots: dict[str, str]) -> None:
    """Make the folder and everything in it, or nothing."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
    except FileExistsError as error:
        what = "is there already" if error.filename == str(folder) else "is no folder"
        raise RunError(f"`{error.filename}` {what}; give another name, or another folder with `--path`") from error
    except OSError as error:
        raise RunError(f"`{folder}` cannot be made: {error.strerror}") from error
    try:
        for source in ("common", kind.value):
            _copy(resources.files("crewgraph.cli") / "templates" / source, folder, slots)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise RunError(f"`{folder}` cannot be written: {error.strerror}") from error


def _copy(source: Traversable, folder: Path, slots: dict[str, str]) -> None:
    for one in source.iterdir():
        if one.is_dir():
            below = folder / one.name.replace("PACKAGE", slots["package"])
            below.mkdir(exist_ok=True)
            _copy(one, below, slots)
        elif one.name.endswith(_ENDING):
            name = one.name.removesuffix(_ENDING)
            text = one.read_text("utf-8")
            for slot, value in slots.items():
                text = text.replace("{{" + slot + "}}", value)
            (folder / _SAID_OTHERWISE.get(name, name)).write_text(text, "utf-8")
