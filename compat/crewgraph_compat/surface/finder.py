"""Where Python is told what crewai is."""

from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from crewgraph_compat.surface.facade import FacadeLoader
from crewgraph_compat.surface.missing import missing_module_message
from crewgraph_compat.surface.table import FILES, TABLE

__all__ = ["ROOT", "Finder"]

ROOT = "crewai"
"""The package that is stood in for."""


class Finder(MetaPathFinder):
    """Finds the modules of the table, and no other module of crewai."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where a module comes from; None for modules that are not crewai's.

        Raises:
            ModuleNotFoundError: it is crewai's and not in the table. Raised, not left to Python: the message says why, and
                an installed crewai must not answer.
        """
        if fullname not in TABLE:
            if fullname.partition(".")[0] == ROOT:
                raise ModuleNotFoundError(missing_module_message(fullname), name=fullname)
            return None
        # The file is the table's: whoever prints `crewai.__file__` sees which crewai this is. All are packages, with
        # nothing on their path: below a plain module Python does not ask, and answers in words of its own.
        spec = ModuleSpec(fullname, FacadeLoader(), origin=FILES[fullname], is_package=True)
        spec.has_location = True
        return spec
