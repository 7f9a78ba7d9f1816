"""Text helpers: filling placeholders, naming nodes, truncating, printing, and extracting JSON from model output."""

import hashlib
import json
import re
import unicodedata
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any, cast

from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import DefinitionError, Fault, MissingInput, RunError

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_\-]*)\}")
_DOTTED_NAME = re.compile(r"(?<!\{)\{[A-Za-z_]\w*(?:\.[A-Za-z]\w*)+\}(?!\})")
_SEPARATORS = re.compile(r"[/\\\\]|\.\.+")
_SLUG_LIMIT = 48

UNSTORABLE = re.compile("[\0\ud800-\udfff]")
"""Matches what not every database can hold: a NUL, or a surrogate."""


# ---------------------------------------------------------------- placeholders
def fill(template: str, inputs: Mapping[str, Any], *, where: str) -> str:
    """Put inputs into the `{placeholders}` of a text.

    Only names are placeholders: `{"a": 1}`, `{x.y}`, `{x[0]}` and `{ x }` stay text, nothing is ever
    evaluated, and inserted values are not scanned for placeholders.

    Args:
        template: The text.
        inputs: Values by name: str, int, float, bool, None, or dicts and lists of these (formatted with `str`).
        where: What the text is, for errors: "the description of task `report`".

    Raises:
        MissingInput: A placeholder has no value.
        DefinitionError: A value is of another type.
    """
    if "{" not in template:
        return template
    if missing := [name for name in _placeholder_names(template) if name not in inputs]:
        raise MissingInput(_missing_message(missing, inputs, where))
    if dotted := _DOTTED_NAME.findall(template):
        told = f"{where} keeps {', '.join(f'`{item}`' for item in dotted)} as text: placeholders are names alone"
        warnings.warn(told, stacklevel=user_stacklevel())
    return _PLACEHOLDER.sub(lambda match: _rendered(match[1], inputs[match[1]], where), template)


def fill_path(template: str, inputs: Mapping[str, Any], *, where: str) -> str:
    """Put inputs into a path, with path separators and `..` replaced so that no input can lead to another folder.

    Raises:
        MissingInput: A placeholder has no value.
        DefinitionError: A value is of another type; see `fill`.
    """
    return fill(template, {name: _as_path_part(value) for name, value in inputs.items()}, where=where)


def _as_path_part(value: object) -> object:
    text: object = str(value) if isinstance(value, (list, dict)) else value  # pyright: ignore[reportUnknownArgumentType]
    return _SEPARATORS.sub("_", text) if isinstance(text, str) else text


def placeholders(template: str) -> set[str]:
    """Return the names of the placeholders in a text."""
    return set(_placeholder_names(template)) if "{" in template else set()


def _placeholder_names(template: str) -> list[str]:
    return list(dict.fromkeys(_PLACEHOLDER.findall(template)))


def _missing_message(missing: list[str], inputs: Mapping[str, object], where: str) -> str:
    names = ", ".join(f"`{name}`" for name in missing)
    available = ", ".join(f"`{name}`" for name in inputs) or "none"
    example = ", ".join(f'"{name}": ...' for name in missing)
    inputs_are, were = ("the input", "was") if len(missing) == 1 else ("the inputs", "were")
    return (
        f"{where} needs {inputs_are} {names}, which {were} not given. Inputs given: {available}. "
        f"Pass inputs={{{example}}}, or remove the braces if the text is meant literally."
    )


def _rendered(name: str, value: object, where: str) -> str:
    if isinstance(value, Enum) and isinstance(value, str):
        return str(value.value)
    if type(value) is not str:
        _check(value, name, name, where)
    return str(value)


def _check(value: Any, name: str, path: str, where: str) -> None:
    if value is None or isinstance(value, (str, int, float, bool)):
        return
    if isinstance(value, dict):
        for key, item in value.items():  # pyright: ignore[reportUnknownVariableType]
            _check(item, name, f"{path}[{key!r}]", where)
    elif isinstance(value, list):
        for number, item in enumerate(value):  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
            _check(item, name, f"{path}[{number}]", where)
    else:
        raise DefinitionError(
            [
                Fault(
                    where=where,
                    what=f"the input `{name}` cannot be formatted: `{path}` has type {type(value).__name__}.",
                    remedy="Give a str, int, float, bool, None, or a dict or list of these.",
                    code="input",
                )
            ]
        )


# ---------------------------------------------------------------- names and lengths
def slug(text: str, *, taken: Collection[str] = ()) -> str:
    """Derive the name of a graph node from a text: lower-case letters and digits of any script, joined by `_`.

    Args:
        text: The text.
        taken: Names in use; a suffix `_2`, `_3` ... avoids them.

    Returns:
        1 to 48 characters, cut at a word where possible; "task" if the text has neither letters nor digits.
    """
    lowered = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())
    words = "".join(c if unicodedata.category(c)[0] in "LNM" else " " for c in lowered)
    base = _truncate_name("_".join(words.split()), _SLUG_LIMIT) or "task"
    name, number = base, 1
    while name in taken:
        number += 1
        suffix = f"_{number}"
        name = _truncate_name(base, _SLUG_LIMIT - len(suffix)) + suffix
    return name


_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORDS = re.compile("[a-z0-9]+")


def model_name(title: str, max_length: int = 64) -> str:
    """Return the name of a tool for models: "Read a file's content" and "ReadAFilesContent" become `read_a_files_content`.

    All providers accept it: a-z, 0-9 and `_`. Accents and quotes are removed. If letters of other scripts are lost, or the name
    is truncated, a short hash keeps different titles apart.
    """
    plain = unicodedata.normalize("NFKD", title)
    humps = _HUMPS.sub("_", plain.encode("ascii", "ignore").decode())
    name = "_".join(_WORDS.findall(humps.replace("'", "").replace('"', "").lower()))
    digits = ""
    if not name or any(char.isalnum() and not char.isascii() for char in plain):
        digits = hashlib.blake2b(title.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    elif len(name) > max_length:
        digits = hashlib.sha256(name.encode()).hexdigest()[:8]  # as CrewAI shortens it
    return f"{name[: max_length - 9].rstrip('_') or 'tool'}_{digits}" if digits else name


def _truncate_name(name: str, limit: int) -> str:
    if len(name) <= limit:
        return name
    head = name[: limit + 1].rpartition("_")[0]
    return head if len(head) > limit // 2 else name[:limit].rstrip("_")


def storable_id(name: str, what: str) -> str:
    """Return the id of a thread or a flow if every database can hold it.

    Args:
        name: The id.
        what: What it is of, for errors: "thread".

    Raises:
        RunError: It holds a NUL, or a surrogate (half of a character).
    """
    if name.isprintable():
        return name
    for position, char in enumerate(name):
        if char == "\0" or "\ud800" <= char <= "\udfff":
            problem = "a NUL" if char == "\0" else "a surrogate, which is half of a character"
            raise RunError(
                f"the {what} id {ascii(name[:80])} holds {problem}, at position {position}, which not every database stores. "
                "Take it out, or give another id."
            )
    return name


def storable_text(text: str) -> str:
    """Return a text that every database can hold: "\ufffd" replaces NULs and surrogates (halves of characters)."""
    return UNSTORABLE.sub("\ufffd", text)


def shorten(text: str, limit: int) -> str:
    """Truncate a text to `limit` characters, ending with a note of how many were left out."""
    if len(text) <= limit:
        return text
    room = limit - len(_truncation_mark(len(text)))
    return text[:room] + _truncation_mark(len(text) - room) if room > 0 else text[: max(limit, 0)]


def _truncation_mark(left_out: int) -> str:
    return f"… [{left_out} characters more]"


def format_duration(duration: timedelta) -> str:
    """Format a duration for people: `40 ms`, `3.2 s`, `2 min 05 s`."""
    seconds = duration.total_seconds()
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s"


# ---------------------------------------------------------------- what is shown
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # but for line breaks and tabs
    "\u2028\u2029\u202a-\u202e\u2066-\u2069"  # separators of lines, and what reverses the writing direction
    "\ud800-\udfff\U000e0000-\U000e007f]"  # halves of characters, and tags, which are invisible letters
)
_BREAK = re.compile(r"[\n\t]")


def printable(text: str) -> str:
    r"""Return a text as it can be shown in a terminal: control characters are escaped (`\x1b`), but for tabs and line breaks.

    Names, answers and errors come from models and tools; as they are, they could move the cursor, overwrite lines, set the
    title of the window or reverse the writing direction.
    """
    return text if text.isprintable() else _CONTROL.sub(_escaped, text.replace("\r\n", "\n"))


def printable_line(text: str) -> str:
    r"""Return a text on one line: like `printable`, with tabs and line breaks escaped (`\n`) as well."""
    return text if text.isprintable() else _BREAK.sub(_escaped, printable(text))


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape", "backslashreplace").decode("ascii")


def json_text(data: object, indent: int | None = None) -> str:
    r"""Return data as JSON that can be shown in a terminal: control characters are escaped as JSON has it (`\u001b`).

    Values that JSON does not know are their `str`.
    """
    text = json.dumps(data, indent=indent, ensure_ascii=False, default=str)
    return text if text.isprintable() else _CONTROL.sub(_json_escaped, text)


def _json_escaped(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def json_encoder(
    *, default: Callable[[Any], object] | None = None, ensure_ascii: bool = True, sort_keys: bool = False
) -> Callable[[Any], str]:
    """Return a function that writes values as compact JSON; data that contain themselves raise a `RecursionError`."""
    return json.JSONEncoder(
        default=default, ensure_ascii=ensure_ascii, sort_keys=sort_keys, separators=(",", ":"), check_circular=False
    ).encode


# ---------------------------------------------------------------- JSON in mixed text
def extract_json(text: str) -> Any | None:
    """Extract the JSON object or array from model output; None if there is none.

    Surrounding prose and code fences are ignored. Trailing commas and those missing before a key, single and curly
    quotes, keys without quotes, `True`, `False`, `None`, comments, raw line breaks and backslashes in strings are
    accepted. What ends too early is not: it may lack more than a bracket. Of several values one in a code fence wins,
    then one that is not empty, then the longest, then the first. Never raises, and gives up on a text that would have
    to be read many times.
    """
    stripped = text.strip()
    if stripped[:1] in ("{", "["):
        try:
            return _loads(stripped)
        except (RecursionError, ValueError):  # prose follows, or it is not strict JSON
            pass
    best: tuple[tuple[bool, bool, int], object] | None = None
    for start, end, value in _values(text):
        rank = (_FENCE.search(text, max(0, start - 24), start) is not None, bool(value), end - start)
        if best is None or rank > best[0]:
            best = rank, value
    return best[1] if best else None


_START = re.compile(r"[{\[]")
_FENCE = re.compile(r"```[ \t]*+[A-Za-z0-9]*+\s*+\Z")
_TOKEN = re.compile(
    r"""(?P<space>(?>(?:\s++|//[^\n]*+)+))
    | (?P<open>[{\[]) | (?P<close>[}\]]) | (?P<colon>:)
    | (?P<comma>,)
    | (?P<double>"[^"\\]*+(?>(?:\\.[^"\\]*+)*)")
    | (?P<single>'[^'\\\n]*+(?>(?:\\.[^'\\\n]*+)*)')
    | (?P<curly>[“”][^“”\\\n]*+(?>(?:\\.[^“”\\\n]*+)*)[“”])
    | (?P<word>(?:true|false|null|True|False|None|NaN|-?Infinity)(?!\w))
    | (?P<number>-?\d++(?:\.\d++)?(?:[eE][+-]?\d++)?(?![\w.]))
    | (?P<key>[A-Za-z_$][\w$]*+(?=\s*+:))""",
    re.VERBOSE | re.DOTALL,
)
_JSON_LITERALS = {"True": "true", "False": "false", "None": "null"}
_COLON = re.compile(r"\s*+:")
_QUOTED = frozenset({"double", "single", "curly"})
_KEYS = _QUOTED | {"key"}
_ENDS_OF_VALUES = _QUOTED | {"word", "number", "close"}
_ESCAPE = re.compile(r"""\\(u[0-9a-fA-F]{4}|.)|(")""", re.DOTALL)
_ESCAPED = frozenset('"\\/bfnrt')
_INVALID_ESCAPE = re.compile(r"""\\[^"\\/bfnrt]""")
_MAX_DEPTH = 500
"""How deep JSON may be nested; how much deeper `json` can read depends on the version of Python."""

_MAX_PASSES = 4
"""How many times the length of a text may be read before the search gives up."""


@dataclass(slots=True)
class _Scan:
    """The tokens from one bracket until it is closed or followed by something that is not JSON."""

    pieces: list[str]
    """The tokens, converted to strict JSON."""

    spans: list[tuple[int, int, int, int]]
    """For every closed bracket its range in the text and its range in `pieces`: (start, end, first, last)."""

    read: int
    """The number of characters read."""

    stop: int
    """Where to continue the search."""


def _loads(text: str) -> object:
    value: object = json.loads(text, strict=False)
    if text.count("[") + text.count("{") > _MAX_DEPTH and _is_too_deep(value):
        raise ValueError("nested too deep")
    return value


def _is_too_deep(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(_MAX_DEPTH):
        level = [inner for outer in level for inner in _elements(outer)]
    return bool(level)


def _elements(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()


def _values(text: str) -> Iterator[tuple[int, int, object]]:
    budget = _MAX_PASSES * len(text) + 1000
    bracket = _START.search(text)
    while bracket and budget > 0:
        scan = _scan(text, bracket.start())
        budget -= scan.read + 1
        covered = 0
        for start, end, first, last in sorted(scan.spans, key=lambda span: (span[0], -span[1])):
            if start < covered or budget < 0:
                continue
            budget -= end - start
            try:
                value = _loads("".join(scan.pieces[first:last]))
            except (RecursionError, ValueError):  # the brackets inside it are tried next
                continue
            covered = end
            yield start, end, value
        bracket = _START.search(text, scan.stop)


def _scan(text: str, start: int) -> _Scan:
    pieces: list[str] = []
    spans: list[tuple[int, int, int, int]] = []
    open_brackets: list[tuple[int, int]] = []
    hidden: int | None = None
    position, before = start, ""
    while (token := _TOKEN.match(text, position)) is not None:
        kind = token.lastgroup
        if kind == "open":
            open_brackets.append((position, len(pieces)))
        elif kind in _QUOTED and hidden is None and (inner := _START.search(token[0])):
            hidden = position + inner.start()
        if before in _ENDS_OF_VALUES and kind in _KEYS and _COLON.match(text, token.end()):
            pieces.append(",")
        if before == "comma" and kind == "close":
            pieces[-1 if pieces[-1] == "," else -2] = ""
        pieces.append(_strict_token(token))
        position = token.end()
        if kind != "space":
            before = kind
        if kind == "close":
            opened_at, first = open_brackets.pop()
            spans.append((opened_at, position, first, len(pieces)))
            if not open_brackets:
                return _Scan(pieces, spans, position - start, position)
    # The quote before a hidden bracket may not have begun a string, so the search continues at the bracket.
    return _Scan(pieces, spans, position - start, hidden or max(position, start + 1))


def _strict_token(token: re.Match[str]) -> str:
    text = token[0]
    match token.lastgroup:
        case "word":
            return _JSON_LITERALS.get(text, text)
        case "space":
            return " "
        case "key":
            return f'"{text}"'
        case "single" | "curly":
            return '"' + _ESCAPE.sub(_requoted, text[1:-1]) + '"'
        case "double" if _INVALID_ESCAPE.search(text):
            return '"' + _ESCAPE.sub(_requoted, text[1:-1]) + '"'
        case _:
            return text


def _requoted(match: re.Match[str]) -> str:
    if match[2]:
        return '\\"'
    if match[1] == "'":
        return "'"
    return match[0] if match[1] in _ESCAPED or len(match[1]) > 1 else f"\\{match[0]}"


def suggestion(written: str, names: Iterable[str]) -> str:
    """Return a sentence, after a space, that asks whether a similar name was meant; "" if there is none."""
    from difflib import get_close_matches

    near = get_close_matches(written, list(names), n=1)
    return f" Did you mean `{near[0]}`?" if near else ""
