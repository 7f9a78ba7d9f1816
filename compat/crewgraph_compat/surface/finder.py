"""The import finder that resolves crewai to the facade modules, and its distribution to one of the same version."""

import sys
from collections.abc import Iterator, Sequence
from functools import partialmethod
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.metadata import Distribution, DistributionFinder
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any

from crewgraph_compat.surface.facade import FacadeLoader
from crewgraph_compat.surface.missing import missing_module_message
from crewgraph_compat.surface.names import MODULES
from crewgraph_compat.surface.version import CREWAI_VERSION

ROOT = "crewai"
"""The name of the replaced package."""

_OPENINFERENCE = "openinference.instrumentation.crewai"
_TABLE = Path(__file__).with_name("table.py")


_ANY = DistributionFinder.Context()


class _Crewai(Distribution):
    """The distribution that `importlib.metadata` shows for crewai, without files and requirements."""

    def read_text(self, filename: str) -> str | None:
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: {ROOT}\nVersion: {CREWAI_VERSION}\nSummary: crewgraph, standing in for crewai\n"

    def locate_file(self, path: str | PathLike[str]) -> Path:
        return _TABLE.parent / path


class Finder(DistributionFinder):
    """Finds the modules that crewgraph has, and refuses any other module of crewai."""

    def find_distributions(self, context: DistributionFinder.Context = _ANY) -> Iterator[Distribution]:
        """Yield the distribution of crewai, before that of an installed one, unless another one is looked for."""
        if context.name is None or context.name.lower() == ROOT:
            yield _Crewai()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a facade module; None for other modules.

        Raises:
            ModuleNotFoundError: A module of crewai is imported that crewgraph does not have. Raised here to explain why.
        """
        if fullname == _OPENINFERENCE:
            return _by_events(fullname, path)
        if fullname not in MODULES:
            if fullname.partition(".")[0] == ROOT and not _is_query():
                raise ModuleNotFoundError(missing_module_message(fullname), name=fullname)
            return None
        # The origin is the table, so that `crewai.__file__` shows which crewai this is. All modules are packages
        # with an empty path: for a submodule of a plain module, Python raises its own error without asking finders.
        spec = ModuleSpec(fullname, FacadeLoader(), origin=str(_TABLE), is_package=True)
        spec.has_location = True
        return spec


def _by_events(fullname: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """Return the spec of OpenInference's instrumentor, which then listens to events unless it is told not to.

    Else it wraps private methods of CrewAI.
    """
    spec = PathFinder.find_spec(fullname, path)
    if spec is None or not isinstance(spec.loader, SourceFileLoader):
        return spec
    run = spec.loader.exec_module

    def exec_module(module: ModuleType) -> None:
        run(module)
        instrumentor: Any = module.__dict__["CrewAIInstrumentor"]
        instrumentor._instrument = partialmethod(instrumentor._instrument, use_event_listener=True)

    spec.loader.exec_module = exec_module
    return spec


def _is_query() -> bool:
    """Whether `importlib.util.find_spec` looks for the module, rather than an import."""
    # The frames in between are the finder's and that of `importlib._bootstrap`.
    return sys._getframe(3).f_globals.get("__name__") == "importlib.util"  # pyright: ignore[reportPrivateUsage]
