"""Snapshots as files of a folder, a folder a branch."""

import os
from pathlib import Path
from typing import Literal

from crewgraph.snapshots.provider import BaseProvider, new_id

__all__ = ["JsonProvider"]

_NONE = "none"
_PARENT = "_p-"


class JsonProvider(BaseProvider):
    """Keeps each snapshot as a file, `<location>/<branch>/<id>_p-<the one before>.json`, readable by its owner."""

    provider_type: Literal["json"] = "json"  # pyright: ignore[reportIncompatibleVariableOverride]

    def checkpoint(self, data: str, location: str, *, parent_id: str | None = None, branch: str = "main") -> str:
        folder = _folder(location, branch)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"{new_id()}{_PARENT}{parent_id or _NONE}.json"
        written = path.with_suffix(".tmp")
        with open(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(data)
        written.replace(path)  # whoever reads sees all of it or nothing, also after a kill
        return str(path)

    def prune(self, location: str, max_keep: int, *, branch: str = "main") -> int:
        old = _by_age(_folder(location, branch).glob("*.json"))
        removed = old[: max(len(old) - max(max_keep, 0), 0)]
        for path in removed:
            path.unlink(missing_ok=True)
        return len(removed)

    def extract_id(self, location: str) -> str:
        return Path(location).stem.partition(_PARENT)[0]

    def from_checkpoint(self, location: str) -> str:
        return Path(location).read_text("utf-8")

    def newest(self, location: str) -> str | None:
        found = _by_age(Path(location).rglob("*.json"))
        return str(found[-1]) if found else None

    def runs(self, location: str) -> Path:
        return Path(location) / "runs.db"


def _folder(location: str, branch: str) -> Path:
    """The folder of a branch.

    Raises:
        ValueError: the branch's name leads out of the place.
    """
    top = Path(location)
    folder = top / branch
    if not folder.resolve().is_relative_to(top.resolve()):
        raise ValueError(f"the branch {branch!r} leads out of the folder {location!r}; give it a plain name")
    return folder


def _by_age(paths: "os.PathLike[str] | object") -> list[Path]:
    return sorted(paths, key=lambda path: (path.stat().st_mtime_ns, path.name))  # type: ignore[call-overload]
