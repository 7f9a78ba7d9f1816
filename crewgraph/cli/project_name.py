"""The name of a new project, and what its package, its class and its distribution are called."""

import keyword
import re
import sys
import unicodedata
from dataclasses import dataclass

from crewgraph.errors import DefinitionError

__all__ = ["ProjectName"]

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
