"""Names of skills in CrewAI's registry: looked up in a cache on this machine. Nothing is fetched."""

import io
import json
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypedDict, cast

from crewgraph.contrib.skills.skill import (
    SKILL_FILENAME,
    Skill,
    SkillParseError,
    load_skill_instructions,
    load_skill_metadata,
)
from crewgraph.errors import DefinitionError
from crewgraph.settings import storage_dir

__all__ = [
    "SkillCache",
    "SkillMetadata",
    "SkillNotInstalled",
    "SkillRef",
    "download_skill",
    "is_registry_ref",
    "parse_registry_ref",
    "parse_skill_ref",
    "resolve_registry_ref",
    "versions_match",
]

_NOTE = ".crewai_meta.json"  # CrewAI's name: a folder that it has filled is read, too
_LARGEST = 20_000_000
"""Bytes of an archive's files together."""

_FILES = 2000
"""Files in an archive."""


class SkillMetadata(TypedDict):
    """A skill that is kept."""

    org: str
    name: str
    version: str | None
    installed_at: str


def versions_match(left: Any, right: Any) -> bool:
    """Whether two versions are the same one: texts, with or without a `v` in front."""
    if not isinstance(left, str) or not isinstance(right, str) or not left or not right:
        return False
    return left.removeprefix("v") == right.removeprefix("v")


class SkillCache:
    """A folder with a folder for each organisation, and in that one for each skill.

    Args:
        cache_root: the folder; `skills` where crewgraph keeps its things where None.
    """

    def __init__(self, cache_root: Path | None = None) -> None:
        self._root = storage_dir() / "skills" if cache_root is None else Path(cache_root)

    def folder(self, org: str, name: str) -> Path:
        """Where a skill is, or would be, kept.

        Raises:
            ValueError: a name would lead out of the folder.
        """
        for part in (org, name):
            if not part or part.startswith(".") or {"/", "\\"} & set(part):
                raise ValueError(f"{part!r} is no name of an organisation or a skill")
        return self._root / org / name

    def get_cached_path(self, org: str, name: str, version: str | None = None) -> Path | None:
        """The folder of a skill; None where it is not kept, or not in that version."""
        folder = self.folder(org, name)
        if not (folder / SKILL_FILENAME).is_file():
            return None
        if version is not None and not versions_match(_note(folder).get("version"), version):
            return None
        return folder

    def list_cached(self) -> list[SkillMetadata]:
        """The skills that were stored here, by organisation and name."""
        notes = sorted(self._root.glob(f"*/*/{_NOTE}"))
        return [cast(SkillMetadata, note) for path in notes if (note := _note(path.parent))]

    def invalidate(self, org: str, name: str) -> bool:
        """Remove a skill; whether there was one."""
        folder = self.folder(org, name)
        if not folder.is_dir():
            return False
        shutil.rmtree(folder)
        return True

    def store(self, org: str, name: str, version: str | None, archive_bytes: bytes) -> Path:
        """Keep the files of a tar or zip archive as a skill, in the place of what was kept of it; its folder.

        Raises:
            SkillParseError: it is no archive, has no `SKILL.md` at its top, is too large, or a file in it leads elsewhere.
        """
        folder = self.folder(org, name)
        files = dict(_checked(_files(archive_bytes, f"@{org}/{name}"), f"@{org}/{name}"))
        if PurePosixPath(SKILL_FILENAME) not in files:
            raise SkillParseError(f"the archive of `@{org}/{name}` has no `{SKILL_FILENAME}` at its top")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            new = Path(made, name)
            for path, data in files.items():
                new.joinpath(path).parent.mkdir(parents=True, exist_ok=True)
                new.joinpath(path).write_bytes(data)
            note = SkillMetadata(org=org, name=name, version=version, installed_at=datetime.now(UTC).isoformat())
            (new / _NOTE).write_text(json.dumps(note, indent=2), "utf-8")
            self.invalidate(org, name)
            new.rename(folder)
        return folder


def _note(folder: Path) -> dict[str, Any]:
    try:
        note: Any = json.loads((folder / _NOTE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return cast(dict[str, Any], note) if isinstance(note, dict) else {}


def _files(archive: bytes, called: str) -> Iterator[tuple[str, bytes]]:
    """The files of an archive; links and devices are left out."""
    left = _LARGEST
    try:
        if zipfile.is_zipfile(io.BytesIO(archive)):
            with zipfile.ZipFile(io.BytesIO(archive)) as zipped:
                for info in zipped.infolist():
                    if not info.is_dir():
                        with zipped.open(info) as file:
                            data = file.read(left + 1)
                        left -= len(data)
                        yield info.filename, data
            return
        with tarfile.open(fileobj=io.BytesIO(archive)) as tarred:
            for member in tarred:
                if member.isfile() and (opened := tarred.extractfile(member)) is not None:
                    data = opened.read(left + 1)
                    left -= len(data)
                    yield member.name, data
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        raise SkillParseError(f"the archive of `{called}` can be read neither as tar nor as zip: {error}") from error


def _checked(files: Iterable[tuple[str, bytes]], called: str) -> Iterator[tuple[PurePosixPath, bytes]]:
    size = 0
    for number, (name, data) in enumerate(files, 1):
        size += len(data)
        if size > _LARGEST or number > _FILES:
            raise SkillParseError(f"the archive of `{called}` holds more than {_LARGEST} bytes or {_FILES} files")
        path = PurePosixPath(name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in name:
            raise SkillParseError(f"the archive of `{called}` has a file that leads out of its folder: {name!r}")
        yield path, data


class SkillNotInstalled(DefinitionError, RuntimeError):
    """A skill of the registry is not on this machine; the message says where to put it."""


class SkillRef(NamedTuple):
    """A skill in a registry."""

    org: str
    name: str
    version: str | None = None
    """The version that is meant; any where None."""


def is_registry_ref(value: Any) -> bool:
    """Whether something names a skill in a registry, rather than a folder: a text that begins with `@`."""
    return isinstance(value, str) and value.startswith("@")


def parse_skill_ref(ref: str) -> SkillRef:
    """A name in a registry in its parts: `@org/name`, `@org/name@1.0`.

    Raises:
        ValueError: it is written otherwise.
    """
    if not is_registry_ref(ref):
        raise ValueError(f"a skill of a registry is written `@org/name`, not {ref!r}")
    whole, at, version = ref[1:].partition("@")
    if at and not version:
        raise ValueError(f"{ref!r}: the version behind the second `@` is missing")
    parts = whole.split("/")
    if len(parts) != 2 or not all(part and not part.startswith(".") and "\\" not in part for part in parts):
        raise ValueError(f"a skill of a registry is written `@org/name`, not {ref!r}")
    return SkillRef(parts[0], parts[1], version or None)


def parse_registry_ref(ref: str) -> tuple[str, str]:
    """The organisation and the name in `@org/name`.

    Raises:
        ValueError: it is written otherwise.
    """
    found = parse_skill_ref(ref)
    return found.org, found.name


def resolve_registry_ref(ref: str, source: Any = None, *, activate: bool = True) -> Skill:
    """A skill of the registry that is on this machine: in the project's folder `skills`, or where skills are kept.

    Args:
        ref: `@org/name` or `@org/name@version`.
        source: not used: nothing happens that could be told.
        activate: whether its instructions are read, too.

    Raises:
        ValueError: it is written otherwise.
        SkillNotInstalled: it is not there.
        SkillParseError: it is there, and cannot be used.
    """
    wanted = parse_skill_ref(ref)
    for folder in _places(wanted):
        skill = load_skill_metadata(folder)
        return load_skill_instructions(skill) if activate else skill
    raise _missing(ref, wanted)


def download_skill(
    org: str, name: str, source: Any = None, *, version: str | None = None, activate: bool = True
) -> Skill:
    """Refused: the registry is a part of CrewAI's hosted platform.

    Raises:
        SkillNotInstalled: always; the message says where to put the folder.
    """
    raise _missing(f"@{org}/{name}" + (f"@{version}" if version else ""), SkillRef(org, name, version))


def _places(wanted: SkillRef) -> list[Path]:
    """Folders that hold it."""
    local = Path.cwd() / "skills" / wanted.name
    places = [local] if (local / SKILL_FILENAME).is_file() and _fits(local, wanted) else []
    for cache in (SkillCache(), SkillCache(Path.home() / ".crewai" / "skills")):
        kept = cache.get_cached_path(wanted.org, wanted.name, wanted.version)
        places += [] if kept is None else [kept]
    return places


def _fits(folder: Path, wanted: SkillRef) -> bool:
    if wanted.version is None:
        return True
    metadata = load_skill_metadata(folder).frontmatter.metadata or {}
    return versions_match(metadata.get("version"), wanted.version)


def _missing(ref: str, wanted: SkillRef) -> SkillNotInstalled:
    kept = SkillCache().folder(wanted.org, wanted.name)
    return SkillNotInstalled(
        f"the skill `{ref}` is not on this machine, and CrewAI's hosted registry, where it would be fetched from, is not asked. "
        f"Put its folder, with its `{SKILL_FILENAME}`, into `{Path('skills', wanted.name)}` of the project or at `{kept}`."
    )
