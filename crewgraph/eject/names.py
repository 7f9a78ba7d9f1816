"""The names of a program: each is given once."""

import builtins
import keyword
import re
import unicodedata

from crewgraph.text import slug

__all__ = ["Names", "class_name", "snake"]


def class_name(text: str) -> str:
    """A text as the name of a class."""
    return "".join(part[:1].upper() + part[1:] for part in slug(text).split("_"))


def snake(text: str) -> str:
    """A text, or the name of a class, as the name of a function."""
    return slug(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text))


class Names:
    """The names that a program uses at its top."""

    def __init__(self) -> None:
        self._taken: set[str] = set(keyword.kwlist) | set(dir(builtins))

    def take(self, name: str) -> None:
        """Note a name that is used."""
        self._taken.add(name)

    def is_taken(self, name: str) -> bool:
        """Whether something has the name."""
        return name in self._taken

    def new(self, wanted: str, otherwise: str = "") -> str:
        """A name like the wanted one that nothing else has.

        Args:
            wanted: what the name should be.
            otherwise: what is added to it first where that is taken.
        """
        base = _identifier(wanted)
        choices = [base, f"{base}{otherwise}"] if otherwise else [base]
        number = 2
        while all(one in self._taken for one in choices):
            choices, number = [f"{base}_{number}"], number + 1
        name = next(one for one in choices if one not in self._taken)
        self._taken.add(name)
        return name


def _identifier(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).replace("-", "_")
    kept = "".join(c if c.isidentifier() or c.isdigit() else "_" for c in plain)
    return kept if kept.isidentifier() else f"n{kept}"
