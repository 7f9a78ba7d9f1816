"""A program while it is written: its imports, and its parts in their order."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from crewgraph.eject.names import Names

__all__ = ["Sheet"]


@dataclass
class Sheet:
    """A program while it is written."""

    about: str
    """Its docstring."""

    names: Names = field(default_factory=Names)
    todo: list[str] = field(default_factory=list[str])
    """What is left to its user."""

    _modules: dict[str, None] = field(default_factory=dict[str, None])
    _from: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    _parts: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    _rank: int | None = None
    _helpers: dict[str, str] = field(default_factory=dict[str, str])

    def module(self, name: str, alias: str | None = None) -> None:
        """Import a module."""
        self.names.take(alias or name.partition(".")[0])
        self._modules[f"{name} as {alias}" if alias and alias != name else name] = None

    def use(self, module: str, *names: str) -> None:
        """Import names from a module; "a as b" is taken."""
        for name in names:
            self.names.take(name.rpartition(" as ")[2])
            self._from.setdefault(module, {})[name] = None

    def add(self, part: str, rank: int = 5) -> None:
        """Add a part: a function, a class, or lines; those of a lower rank stand before."""
        self._parts.append((rank if self._rank is None else min(rank, self._rank), part.strip("\n")))

    @contextmanager
    def together(self, rank: int) -> Generator[None]:
        """Let what is added stand together, in its order: nothing of it behind this rank."""
        before, self._rank = self._rank, rank
        try:
            yield
        finally:
            self._rank = before

    def helper(self, name: str) -> str | None:
        """What a helper is called here; None where it is not written yet."""
        return self._helpers.get(name)

    def name_helper(self, name: str, called: str) -> None:
        """Note what a helper is called here."""
        self._helpers[name] = called

    def written(self) -> str:
        """The program, as it stands."""
        parts = [text for _, text in sorted(self._parts, key=lambda part: part[0])]
        return "\n\n".join([f'"""{self.about}"""', self._imports(), *_spaced(parts)]).rstrip() + "\n"

    def _imports(self) -> str:
        lines = [f"import {name}" for name in self._modules]
        lines += [f"from {module} import {', '.join(sorted(names))}" for module, names in self._from.items()]
        future = [line for line in lines if line.startswith("from __future__")]
        return "\n".join([*future, *sorted((line for line in lines if line not in future), key=str.lower)])


def _spaced(parts: list[str]) -> list[str]:
    """Parts with two blank lines around functions and classes, as formatters have it."""
    return [f"\n{part}" if part.startswith(("def ", "class ", "@", "async def ")) else part for part in parts]
