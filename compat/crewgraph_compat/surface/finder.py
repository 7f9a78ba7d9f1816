"""The import finder that resolves crewai to the facade modules."""

from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from crewgraph_compat.surface.facade import FacadeLoader
from crewgraph_compat.surface.missing import missing_module_message
from crewgraph_compat.surface.table import FILES, TABLE

__all__ = ["ROOT", "Finder"]

ROOT = "crewai"
"""The name of the replaced package."""


class Finder(MetaPathFinder):
    """Finds the modules of the table, and refuses any other module of crewai."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a facade module; None for modules outside of crewai.

        Raises:
            ModuleNotFoundError: The module is crewai's but not in the table. Raised here to explain why, and because an
                installed crewai must not be found instead.
        """
        if fullname not in TABLE:
            if fullname.partition(".")[0] == ROOT:
                raise ModuleNotFoundError(missing_module_message(fullname), name=fullname)
            return None
        # The origin is the table's file, so that `crewai.__file__` shows which crewai this is. All modules are packages
        # with an empty path: for a submodule of a plain module, Python raises its own error without asking finders.
        spec = ModuleSpec(fullname, FacadeLoader(), origin=FILES[fullname], is_package=True)
        spec.has_location = True
        return spec
