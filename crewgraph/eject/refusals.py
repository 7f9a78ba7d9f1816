"""What cannot be written out, gathered, so that it is told at once."""

from collections.abc import Iterator

from crewgraph.errors import CompileError

__all__ = ["CannotEject", "Refusals"]


class CannotEject(CompileError):
    """Something of a crew or flow has no translation; says what, all of it, and why."""


class Refusals:
    """What was found that has no translation."""

    def __init__(self) -> None:
        self._found: dict[str, None] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def add(self, what: str, why: str) -> None:
        """Note something, and why it is not translated."""
        self._found[f"{what}: {why}"] = None

    def check(self, called: str) -> None:
        """Refuse, if anything was noted.

        Raises:
            CannotEject: all of it.
        """
        if self._found:
            listed = "\n".join(f"  - {one}" for one in self._found)
            raise CannotEject(f"{called} cannot be ejected as it is. What has no translation:\n{listed}")
