"""Packages loaded on first use: heavy ones, and optional ones that are refused with the pip line where missing."""

import importlib
from functools import cache
from types import ModuleType

from crewgraph.errors import MissingExtra

__all__ = ["load", "require"]


@cache
def load(module: str) -> ModuleType:
    """Import a heavy package that is always installed, when it is first needed."""
    return importlib.import_module(module)


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional package.

    Raises:
        MissingExtra: it is not installed; the message says how to install it.
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
