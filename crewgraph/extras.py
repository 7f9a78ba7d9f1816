"""Imports on first use: heavy packages, and optional ones with an install command in the error if missing."""

import importlib
from functools import cache
from types import ModuleType

from crewgraph.errors import MissingExtra

RELEASED = False
"""Whether crewgraph is on a package index; `make release` says so here and on the pages."""


@cache
def load(module: str) -> ModuleType:
    """Import a required package whose import is slow."""
    return importlib.import_module(module)


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional package.

    Raises:
        MissingExtra: the package is not installed; the message contains the install command.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if error.name is None or module != error.name and not module.startswith(f"{error.name}."):
            raise
        raise MissingExtra(
            f"{purpose} needs the package `{error.name}`, which is not installed. "
            f'Install it with: pip install "crewgraph[{extra}]"'
        ) from error
