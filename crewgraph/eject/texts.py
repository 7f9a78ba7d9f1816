"""Texts of prompts as Python: readable literals, and what fills their slots."""

import re
import textwrap
from collections.abc import Mapping

__all__ = ["doc_line", "filled", "literal", "template"]

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_\-]*)\}")
_WIDTH = 110
_SLOT = "\x00{}\x01"


def template(text: str, values: Mapping[str, str]) -> str:
    """A text as `str.format` takes it: with slots for these names; all other braces are text."""

    def kept(found: re.Match[str]) -> str:
        return _SLOT.format(found[1].replace("-", "_")) if found[1] in values else found[0]

    marked = _PLACEHOLDER.sub(kept, text)
    if marked == text:
        return text
    return marked.replace("{", "{{").replace("}", "}}").replace("\x00", "{").replace("\x01", "}")


def filled(name: str, text: str, values: Mapping[str, str]) -> str:
    """The expression for a text with its slots filled.

    Args:
        name: the constant that holds the text.
        text: the text as it was written.
        values: by the names of placeholders, expressions.
    """
    used = dict.fromkeys(found for found in _PLACEHOLDER.findall(text) if found in values)
    given = ", ".join(f"{one.replace('-', '_')}={values[one]}" for one in used)
    return f"{name}.format({given})" if given else name


def literal(text: str) -> str:
    """A text as a literal: in lines where it has any, none of them too long."""
    if "\n" not in text and len(text) <= _WIDTH - 10:
        return _quoted(text)
    lines: list[str] = []
    for line in text.split("\n"):
        lines += _wrapped(_escaped(line))
    body = "\n".join(lines)
    if body.endswith('"'):
        body = f'{body[:-1]}\\"'
    return f'"""\\\n{body}"""'


def doc_line(text: str, limit: int = 90) -> str:
    """A text as the one line of a docstring."""
    line = " ".join(text.replace("\\", "/").replace('"', "'").split())
    line = line if len(line) <= limit else f"{line[: limit - 3].rstrip()}..."
    line = line[:1].upper() + line[1:]
    return line if line.endswith((".", "?", "!")) else f"{line}."


def _quoted(text: str) -> str:
    if '"' in text and "'" not in text and text.isprintable() and "\\" not in text:
        return f"'{text}'"
    return '"' + "".join(_safe(c) for c in text).replace('"', '\\"') + '"'


def _escaped(line: str) -> str:
    escaped = "".join(_safe(c) for c in line).replace('"""', '\\"\\"\\"')
    # Blanks at the end would be lost to editors.
    return f"{escaped[:-1]}\\x20" if escaped.endswith(" ") else escaped


def _safe(c: str) -> str:
    if c == "\\":
        return "\\\\"
    return c if c.isprintable() else c.encode("unicode_escape").decode()


def _wrapped(line: str) -> list[str]:
    """A line as several, which are joined by a backslash at their ends."""
    if len(line) <= _WIDTH:
        return [line]
    pieces = textwrap.wrap(
        line,
        _WIDTH,
        drop_whitespace=False,
        replace_whitespace=False,
        expand_tabs=False,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [*(f"{piece}\\" for piece in pieces[:-1]), pieces[-1]]
