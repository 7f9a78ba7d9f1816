"""`crewgraph create`: create a project that runs, and whose test passes, out of the box."""

import json
import keyword
import re
import shlex
import shutil
import sys
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit
from urllib.request import url2pathname

import typer

from crewgraph import __version__
from crewgraph.cli.output import print_text
from crewgraph.errors import DefinitionError, RunError
from crewgraph.extras import RELEASED
from crewgraph.schema import PlainDict

_MAX_LENGTH = 60
_RESERVED = frozenset({"crewai", "crewgraph", "crewgraph_compat", "src", "tests"})


@dataclass(frozen=True)
class ProjectName:
    """The name of a project in its different spellings."""

    package: str
    """Directory and package name: `my_crew`."""

    @classmethod
    def of(cls, name: str) -> "ProjectName":
        """Normalize a name such as "My Crew", "my-crew", "my_crew" or "Équipe".

        Raises:
            DefinitionError: The name cannot be turned into a package name.
        """
        if "/" in name or "\\" in name:
            raise DefinitionError(f"{name!r} is a path; pass a name, and the directory with `--path`")
        letters = "".join(
            char for char in unicodedata.normalize("NFKD", name.replace("ß", "ss")) if not unicodedata.combining(char)
        )
        unsupported = "".join(dict.fromkeys(char for char in letters if not char.isascii()))
        if unsupported:
            raise DefinitionError(
                f"{name!r} contains {unsupported!r}, which is not allowed in a package name; use letters from a to z"
            )
        package = re.sub(r"[^a-z0-9]+", "_", letters.lower()).strip("_")
        if not package:
            raise DefinitionError(f"{name!r} has no letters; choose a name such as `my_crew`")
        if len(package) > _MAX_LENGTH:
            raise DefinitionError(f"{name!r:.40} is too long; choose a name of at most {_MAX_LENGTH} characters")
        _check_available(name, package)
        return cls(package)

    @property
    def distribution(self) -> str:
        """Distribution name: `my-crew`."""
        return self.package.replace("_", "-")

    @property
    def title(self) -> str:
        """Heading: `My crew`."""
        return self.package.replace("_", " ").capitalize()

    def class_name(self, suffix: str) -> str:
        """Class name with a suffix: `MyCrew`, `NewsCrew`; never the suffix alone, which is a class of crewgraph's."""
        words = [word.capitalize() for word in self.package.split("_")]
        if len(words) > 1 and words[-1] == suffix:
            words.pop()
        return "".join([*words, suffix])


def _check_available(name: str, package: str) -> None:
    reason = None
    if package[0].isdigit():
        reason = "begins with a digit"
    elif keyword.iskeyword(package):
        reason = "is a Python keyword"
    elif package in sys.stdlib_module_names:
        reason = "is a standard library module"
    elif package in _RESERVED:
        reason = "is reserved"
    if reason is not None:
        raise DefinitionError(f"{name!r} {reason}; choose another name, such as `my_{package}`")


_TEMPLATE_SUFFIX = ".tmpl"
_RENAMED_FILES = {"gitignore": ".gitignore", "env.example": ".env.example"}
"""Files whose final names would take effect in the template directory."""


class ProjectKind(StrEnum):
    """The kind of a project."""

    crew = "crew"
    flow = "flow"


def create(
    kind: Annotated[
        ProjectKind, typer.Argument(help="What to create: a crew, or a flow with a crew.", show_default=False)
    ],
    name: Annotated[str, typer.Argument(help='The name of the project; "My Crew" becomes the package `my_crew`.')],
    path: Annotated[Path, typer.Option("--path", help="The directory to create the project in.")] = Path(),
) -> None:
    """Create a crew project, or a flow project with a crew.

    The project includes a test that needs no API key. Its directory is named after the package and must not exist yet.
    """
    project = ProjectName.of(name)
    folder = path / project.package
    _write_files(folder, kind, _slots(kind, project))
    print_text(
        f"Created `{folder}`. Next steps:\n\n"
        f"  cd {folder}\n"
        "  pip install -e '.[dev]'   # crewgraph is installed already\n"
        "  pytest                    # needs no API key\n"
        "  cp .env.example .env      # then add your API key\n"
        f"  crewgraph run -m {project.package}.main"
    )


def _slots(kind: ProjectKind, name: ProjectName) -> dict[str, str]:
    return {
        "kind": kind.value,
        "package": name.package,
        "distribution": name.distribution,
        "title": name.title,
        "version": __version__,
        "install": _install_command(),
        "install_note": _install_note(),
        "class": name.class_name(kind.value.capitalize()),
        "crew_class": name.class_name("Crew"),
        "state_class": name.class_name("State"),
    }


def _install_command() -> str:
    """Return the command that installs a project on another machine, with crewgraph's origin if that is not a package index."""
    source = _installed_from()
    return f"pip install {source} -e '.[dev]'" if source else "pip install -e '.[dev]'"


def _install_note() -> str:
    """Return a note for the README if crewgraph was installed from a file or folder of this machine; empty otherwise."""
    source = _installed_from()
    if source is None or "://" in source:
        return ""
    return (
        "\nOn the machine where the project was created, crewgraph came from the path in the second line. Elsewhere, name the "
        "wheel or the\ncheckout that you have there"
        + ("; from a package index, `pip install -e '.[dev]'` is enough.\n" if RELEASED else ".\n")
    )


def _installed_from() -> str | None:
    """Return the path, archive or repository that crewgraph was installed from, as pip takes it; None for an index."""
    try:
        recorded = distribution("crewgraph").read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    if recorded is None:
        return None
    origin: PlainDict = json.loads(recorded)
    url = str(origin["url"])
    if "vcs_info" in origin:
        return shlex.quote(f"{origin['vcs_info']['vcs']}+{url}@{origin['vcs_info']['commit_id']}")
    parts = urlsplit(url)
    path = shlex.quote(url2pathname(parts.path) if parts.scheme == "file" else url)
    return f"-e {path}" if origin.get("dir_info", {}).get("editable") else path


def _write_files(folder: Path, kind: ProjectKind, slots: dict[str, str]) -> None:
    """Create the directory with all files; on errors, leave nothing behind."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
    except FileExistsError as error:
        problem = "already exists" if error.filename == str(folder) else "is not a directory"
        raise RunError(f"`{error.filename}` {problem}; choose another name, or another `--path`") from error
    except OSError as error:
        raise RunError(f"cannot create `{folder}`: {error.strerror}") from error
    try:
        for source in ("common", kind.value):
            _copy(resources.files("crewgraph.cli") / "templates" / source, folder, slots)
    except BaseException as error:  # also Ctrl-C: half a project is worth nothing
        shutil.rmtree(folder, ignore_errors=True)
        if not isinstance(error, OSError):
            raise
        raise RunError(f"cannot write to `{folder}`: {error.strerror}") from error


def _copy(source: Traversable, folder: Path, slots: dict[str, str]) -> None:
    for entry in source.iterdir():
        if entry.is_dir():
            target = folder / entry.name.replace("PACKAGE", slots["package"])
            target.mkdir(exist_ok=True)
            _copy(entry, target, slots)
        elif entry.name.endswith(_TEMPLATE_SUFFIX):
            file_name = entry.name.removesuffix(_TEMPLATE_SUFFIX)
            text = entry.read_text("utf-8")
            for slot, value in slots.items():
                text = text.replace("{{" + slot + "}}", value)
            (folder / _RENAMED_FILES.get(file_name, file_name)).write_text(text, "utf-8")
