"""Names that CrewAI's programs make: of tools for models, of projects for files."""

import hashlib
import re
import unicodedata

__all__ = ["sanitize_tool_name"]

_HUMPS = (re.compile(r"([A-Z]+)([A-Z][a-z])"), re.compile(r"([a-z])([A-Z])"))
_DIGITS = 8


def sanitize_tool_name(name: str, max_length: int = 64) -> str:
    """A tool's name as CrewAI tells it to models: lower-case letters and digits, joined by `_`.

    Agents of crewgraph call tools by `crewgraph.tools.name.model_name`, which keeps capitals.

    Args:
        name: the tool's name.
        max_length: how long it may be; of a longer one the start is kept, with eight digits made from the whole.
    """
    for hump in _HUMPS:
        name = hump.sub(r"\1_\2", name)
    made = _slug(name)
    if len(made) <= max_length:
        return made
    digits = hashlib.sha256(made.encode()).hexdigest()[:_DIGITS]
    return f"{made[: max_length - _DIGITS - 1].rstrip('_')}_{digits}"


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return "_".join(re.findall(r"[a-z0-9]+", plain.replace("'", "").replace('"', "")))
