"""Templates that a user puts around the messages of an agent: `{{ .System }}`, `{{ .Prompt }}`, `{{ .Response }}`."""

import re
from collections.abc import Mapping

__all__ = ["around", "checked_format", "framed", "has_slot", "slot"]

_WORD = re.compile(r"\{(role|goal|backstory)\}")
_DIRECTIVE = re.compile(r"%[-_0^#]?(.?)")
_DIRECTIVES = frozenset("aAwdbBmyYHIpMSfzZjUWcxXGuVeDFTRhkCglnrt%")


def slot(name: str) -> str:
    """How a template says where a text goes."""
    return "{{ ." + name + " }}"


def has_slot(template: str, name: str) -> bool:
    """Whether a template says where the text goes; the blanks do not matter."""
    return _slot(name).search(template) is not None


def framed(template: str, name: str, text: str, texts: Mapping[str, str]) -> str:
    """A text in its template.

    Args:
        template: the template.
        name: which slot the text goes into.
        text: the text, in which nothing is filled any more.
        texts: what stands for `{role}`, `{goal}` and `{backstory}` in the template itself.
    """
    parts = [_WORD.sub(lambda found: texts[found[1]], part) for part in _slot(name).split(template)]
    return text.join(parts)


def around(template: str, name: str) -> tuple[str, str]:
    """What stands before the slot of a template, and what behind it."""
    before, *after = _slot(name).split(template)
    return before, after[0].strip() if after else ""


def checked_format(written: str) -> str:
    """A format of dates, if `strftime` knows all of it.

    Raises:
        ValueError: it holds an unknown directive, or none.
    """
    found = _DIRECTIVE.findall(written)
    unknown = [f"`%{letter}`" for letter in found if letter not in _DIRECTIVES or not letter]
    if unknown or not set(found) - set("nt%"):
        what = f"{', '.join(unknown)} is no part of a date" if unknown else "it holds no part of a date"
        raise ValueError(f"{written!r} cannot be a date: {what}. Write it as `strftime` takes it: '%Y-%m-%d'.")
    return written


def _slot(name: str) -> re.Pattern[str]:
    return re.compile(r"\{\{\s*\." + name + r"\s*\}\}")
