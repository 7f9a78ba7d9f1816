"""References to skills in CrewAI's registry, resolved from local caches; nothing is downloaded."""

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
from crewgraph.schema import is_object
from crewgraph.settings import storage_dir

_METADATA_FILE = ".crewai_meta.json"  # the name that CrewAI uses, so that its caches can be read
_MAX_SIZE = 20_000_000
"""Maximum total size of an archive's files, in bytes."""

_MAX_FILES = 2000
"""Maximum number of files in an archive."""


class SkillMetadata(TypedDict):
    """Metadata of a cached skill."""

    org: str
    name: str
    version: str | None
    installed_at: str


def versions_match(left: object, right: object) -> bool:
    """Return whether two version texts are equal, ignoring a leading `v`."""
    if not isinstance(left, str) or not isinstance(right, str) or not left or not right:
        return False
    return left.removeprefix("v") == right.removeprefix("v")


class SkillCache:
    """A cache of skills: a folder per organization, with a folder per skill.

    Args:
        cache_root: The folder; None uses `skills` in crewgraph's storage folder.
    """

    def __init__(self, cache_root: Path | None = None) -> None:
        self._root = storage_dir() / "skills" if cache_root is None else Path(cache_root)

    def folder(self, org: str, name: str) -> Path:
        """Return the folder of a skill, which may not exist.

        Raises:
            ValueError: If a name would lead out of the cache.
        """
        for part in (org, name):
            if not part or part.startswith(".") or {"/", "\\"} & set(part):
                raise ValueError(f"{part!r} is not a valid name of an organization or a skill")
        return self._root / org / name

    def get_cached_path(self, org: str, name: str, version: str | None = None) -> Path | None:
        """Return the folder of a cached skill; None if it is not cached, or not in that version."""
        folder = self.folder(org, name)
        if not (folder / SKILL_FILENAME).is_file():
            return None
        if version is not None and not versions_match(_read_metadata(folder).get("version"), version):
            return None
        return folder

    def list_cached(self) -> list[SkillMetadata]:
        """Return the stored skills, sorted by organization and name."""
        paths = sorted(self._root.glob(f"*/*/{_METADATA_FILE}"))
        return [cast(SkillMetadata, data) for path in paths if (data := _read_metadata(path.parent))]

    def invalidate(self, org: str, name: str) -> bool:
        """Remove a skill; return whether it was cached."""
        folder = self.folder(org, name)
        if not folder.is_dir():
            return False
        shutil.rmtree(folder)
        return True

    def store(self, org: str, name: str, version: str | None, archive_bytes: bytes) -> Path:
        """Store a skill from a tar or zip archive, replacing any previous one, and return its folder.

        Raises:
            SkillParseError: If it is not an archive, has no top-level `SKILL.md`, is too large, or contains unsafe paths.
        """
        folder = self.folder(org, name)
        files = dict(_checked_files(_archive_files(archive_bytes, f"@{org}/{name}"), f"@{org}/{name}"))
        if PurePosixPath(SKILL_FILENAME) not in files:
            raise SkillParseError(f"the archive of `@{org}/{name}` has no top-level `{SKILL_FILENAME}`")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
            new = Path(temporary, name)
            for path, data in files.items():
                new.joinpath(path).parent.mkdir(parents=True, exist_ok=True)
                new.joinpath(path).write_bytes(data)
            metadata = SkillMetadata(org=org, name=name, version=version, installed_at=datetime.now(UTC).isoformat())
            (new / _METADATA_FILE).write_text(json.dumps(metadata, indent=2), "utf-8")
            self.invalidate(org, name)
            new.rename(folder)
        return folder


def _read_metadata(folder: Path) -> dict[str, object]:
    try:
        data: object = json.loads((folder / _METADATA_FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return data if is_object(data) else {}


def _archive_files(archive: bytes, ref: str) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an archive, skipping links and devices."""
    remaining = _MAX_SIZE
    try:
        if zipfile.is_zipfile(io.BytesIO(archive)):
            with zipfile.ZipFile(io.BytesIO(archive)) as zipped:
                for info in zipped.infolist():
                    if not info.is_dir():
                        with zipped.open(info) as file:
                            data = file.read(remaining + 1)
                        remaining -= len(data)
                        yield info.filename, data
            return
        with tarfile.open(fileobj=io.BytesIO(archive)) as tarred:
            for member in tarred:
                if member.isfile() and (opened := tarred.extractfile(member)) is not None:
                    data = opened.read(remaining + 1)
                    remaining -= len(data)
                    yield member.name, data
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        raise SkillParseError(f"the archive of `{ref}` is neither a valid tar nor a valid zip file: {error}") from error


def _checked_files(files: Iterable[tuple[str, bytes]], ref: str) -> Iterator[tuple[PurePosixPath, bytes]]:
    size = 0
    for number, (name, data) in enumerate(files, 1):
        size += len(data)
        if size > _MAX_SIZE or number > _MAX_FILES:
            raise SkillParseError(f"the archive of `{ref}` contains more than {_MAX_SIZE} bytes or {_MAX_FILES} files")
        path = PurePosixPath(name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in name:
            raise SkillParseError(f"the archive of `{ref}` contains a path that leads out of its folder: {name!r}")
        yield path, data


class SkillNotInstalled(DefinitionError, RuntimeError):
    """A skill of the registry is not installed; the message says where to put it."""


class SkillRef(NamedTuple):
    """A reference to a skill in a registry."""

    org: str
    name: str
    version: str | None = None
    """The required version; None accepts any."""


def is_registry_ref(value: Any) -> bool:
    """Return whether a value is a registry reference, that is text starting with `@`, rather than a folder."""
    return isinstance(value, str) and value.startswith("@")


def parse_skill_ref(ref: str) -> SkillRef:
    """Parse a registry reference: `@org/name` or `@org/name@1.0`.

    Raises:
        ValueError: If it is malformed.
    """
    if not is_registry_ref(ref):
        raise ValueError(f"a registry reference has the form `@org/name`, not {ref!r}")
    path, at, version = ref[1:].partition("@")
    if at and not version:
        raise ValueError(f"{ref!r}: the version after the second `@` is missing")
    parts = path.split("/")
    if len(parts) != 2 or not all(part and not part.startswith(".") and "\\" not in part for part in parts):
        raise ValueError(f"a registry reference has the form `@org/name`, not {ref!r}")
    return SkillRef(parts[0], parts[1], version or None)


def parse_registry_ref(ref: str) -> tuple[str, str]:
    """Return the organization and the name in `@org/name`.

    Raises:
        ValueError: If it is malformed.
    """
    parsed = parse_skill_ref(ref)
    return parsed.org, parsed.name


def resolve_registry_ref(ref: str, source: object = None, *, activate: bool = True) -> Skill:
    """Load an installed skill of the registry, from the project's folder `skills` or from a cache.

    Args:
        ref: `@org/name` or `@org/name@version`.
        source: Ignored.
        activate: Whether to read its instructions as well.

    Raises:
        ValueError: If the reference is malformed.
        SkillNotInstalled: If the skill is not installed.
        SkillParseError: If the skill is invalid.
    """
    parsed = parse_skill_ref(ref)
    for folder in _installed_folders(parsed):
        skill = load_skill_metadata(folder)
        return load_skill_instructions(skill) if activate else skill
    raise _not_installed(ref, parsed)


def download_skill(
    org: str, name: str, source: object = None, *, version: str | None = None, activate: bool = True
) -> Skill:
    """Not supported: the registry is part of CrewAI's hosted platform.

    Raises:
        SkillNotInstalled: Always; the message says where to put the folder.
    """
    raise _not_installed(f"@{org}/{name}" + (f"@{version}" if version else ""), SkillRef(org, name, version))


def _installed_folders(ref: SkillRef) -> list[Path]:
    """Return the folders in which the skill is installed."""
    local = Path.cwd() / "skills" / ref.name
    folders = [local] if (local / SKILL_FILENAME).is_file() and _has_version(local, ref) else []
    for cache in (SkillCache(), SkillCache(Path.home() / ".crewai" / "skills")):
        cached = cache.get_cached_path(ref.org, ref.name, ref.version)
        folders += [] if cached is None else [cached]
    return folders


def _has_version(folder: Path, ref: SkillRef) -> bool:
    if ref.version is None:
        return True
    metadata = load_skill_metadata(folder).frontmatter.metadata or {}
    return versions_match(metadata.get("version"), ref.version)


def _not_installed(ref: str, parsed: SkillRef) -> SkillNotInstalled:
    folder = SkillCache().folder(parsed.org, parsed.name)
    return SkillNotInstalled(
        f"the skill `{ref}` is not on this machine, and crewgraph does not download from CrewAI's hosted registry. Put its "
        f"folder, with its `{SKILL_FILENAME}`, into `{Path('skills', parsed.name)}` of the project or at `{folder}`."
    )
