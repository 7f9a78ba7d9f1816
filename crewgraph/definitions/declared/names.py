"""Names in declarations: of methods and steps, and of things of Python."""

import re
from operator import attrgetter
from pathlib import Path
from typing import Any

from crewgraph.definitions.declared.modules import module_of
from crewgraph.errors import DefinitionError

__all__ = ["checked_name", "named_python", "reference_of"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def checked_name(name: str, what: str) -> str:
    """The name.

    Raises:
        ValueError: it is none that expressions can say.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is {what}; write letters, digits and `_`, and no digit first")
    return name


def named_python(ref: str, where: str, root: Path | None = None) -> Any:
    """What "module:name" stands for. It is imported: declarations are as trusted as programs.

    Args:
        ref: the name; behind the colon there may be dots, as in "shop:Desk.answer".
        where: where it stands, for messages.
        root: a folder whose modules may be named, too; they come first.

    Raises:
        DefinitionError: it is no such name, or leads nowhere.
    """
    module, colon, name = ref.partition(":")
    if not (module and colon and name):
        raise DefinitionError(f'{where}: {ref!r} is no name of the form "module:name"')
    try:
        return attrgetter(name)(module_of(module, root))
    except (ImportError, AttributeError) as error:
        raise DefinitionError(f"{where}: {ref!r} leads nowhere: {error}") from error


def reference_of(value: Any) -> str | None:
    """The "module:name" of a class or function; None where it has none that leads to it."""
    name, module = getattr(value, "__qualname__", None), getattr(value, "__module__", None)
    return f"{module}:{name}" if isinstance(name, str) and isinstance(module, str) and "<" not in name else None
