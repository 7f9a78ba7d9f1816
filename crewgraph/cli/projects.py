"""`crewgraph create`: a new project that runs, and whose test passes, as it stands.

The name of a new project, and what its package, its class and its distribution are called.
"""

import keyword
import re
import shutil
import sys
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from crewgraph import __version__
from crewgraph.errors import DefinitionError, RunError

__all__ = ["ProjectKind", "ProjectName", "create"]


_LONGEST = 60
_TAKEN = frozenset({"crewai", "crewgraph", "crewgraph_compat", "src", "tests"})


@dataclass(frozen=True)
class ProjectName:
    """A name in the forms that a project needs."""

    package: str
    """The folder and the package: `my_crew`."""

    @classmethod
    def of(cls, given: str) -> "ProjectName":
        """What people call it: "My Crew", "my-crew", "my_crew", "Équipe".

        Raises:
            DefinitionError: no package can be called that; says what to give instead.
        """
        if "/" in given or "\\" in given:
            raise DefinitionError(f"{given!r} is a path; give a name, and the folder with `--path`")
        plain = "".join(
            one for one in unicodedata.normalize("NFKD", given.replace("ß", "ss")) if not unicodedata.combining(one)
        )
        strange = "".join(dict.fromkeys(one for one in plain if not one.isascii()))
        if strange:
            raise DefinitionError(f"{given!r} has {strange!r}, which no package can be called; use letters from a to z")
        package = re.sub(r"[^a-z0-9]+", "_", plain.lower()).strip("_")
        if not package:
            raise DefinitionError(f"{given!r} has no letters; give a name such as `my_crew`")
        if len(package) > _LONGEST:
            raise DefinitionError(f"{given!r:.40} is too long; give a name of at most {_LONGEST} letters")
        _check(given, package)
        return cls(package)

    @property
    def distribution(self) -> str:
        """What pip calls it: `my-crew`."""
        return self.package.replace("_", "-")

    @property
    def title(self) -> str:
        """A heading: `My crew`."""
        return self.package.replace("_", " ").capitalize()

    def a_class(self, ending: str) -> str:
        """A class with that ending: `MyCrew`, `NewsCrew`; never the ending alone, which is a class of ours."""
        words = [word.capitalize() for word in self.package.split("_")]
        if len(words) > 1 and words[-1] == ending:
            words.pop()
        return "".join([*words, ending])


def _check(given: str, package: str) -> None:
    because = None
    if package[0].isdigit():
        because = "begins with a digit"
    elif keyword.iskeyword(package):
        because = "is a word of Python's"
    elif package in sys.stdlib_module_names:
        because = "is a module of Python's"
    elif package in _TAKEN:
        because = "is taken"
    if because is not None:
        raise DefinitionError(f"{given!r} {because}; give another name, such as `my_{package}`")


_ENDING = ".tmpl"
_SAID_OTHERWISE = {"gitignore": ".gitignore", "env.example": ".env.example"}
"""Files whose names would mean something where the templates are."""


class ProjectKind(StrEnum):
    """What a project is."""

    crew = "crew"
    flow = "flow"


def create(
    kind: Annotated[ProjectKind, typer.Argument(help="What to make.", show_default=False)],
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


def _slots(kind: ProjectKind, named: ProjectName) -> dict[str, str]:
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


def _write(folder: Path, kind: ProjectKind, slots: dict[str, str]) -> None:
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
