"""Whose dependencies a file names, where a folder holds several projects."""

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

__all__ = ["Realms"]

_WHOLE = PurePosixPath(".")


class Realms:
    """The folders whose programs the files of dependencies speak of.

    Such a file speaks of what is in its folder; where that holds no program, as `requirements/` and `docker/` do, of what is
    in the folder above.

    Args:
        dependencies: the files of dependencies, as they are shown.
        programs: the programs.
    """

    def __init__(self, dependencies: Iterable[str], programs: Iterable[str]) -> None:
        folders = {folder for name in programs for folder in PurePosixPath(name).parents}
        self._realms: dict[str, PurePosixPath] = {}
        for name in dependencies:
            above = PurePosixPath(name).parents
            self._realms[name] = next((folder for folder in above if folder in folders), _WHOLE)

    def of(self, dependency: str, files: Sequence[str]) -> list[str]:
        """The files that a file of dependencies has to do for: those of its realm, and those that are in none."""
        realm = self._realms[dependency]
        return [name for name in files if self._is_in(name, realm) or not self._has_any(name)]

    def _has_any(self, name: str) -> bool:
        return any(self._is_in(name, realm) for realm in self._realms.values())

    @staticmethod
    def _is_in(name: str, realm: PurePosixPath) -> bool:
        return realm in PurePosixPath(name).parents
