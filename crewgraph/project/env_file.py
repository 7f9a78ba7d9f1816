"""Loading of `.env` files."""

import os
import re
from pathlib import Path

from crewgraph.errors import DefinitionError

_LINE = re.compile(
    r"""\s*+(?:export\s++)?(?P<name>[A-Za-z_]\w*+)\s*+=\s*+
    (?:'(?P<literal>[^']*+)'|"(?P<quoted>(?>(?:\\.|[^"\\])*))"|(?>(?P<bare>(?!['"]|(?<=\s)\#)\S++(?>(?:\s++(?!\#)\S++)*))?))
    \s*+(?:(?<=\s)\#.*)?""",
    re.VERBOSE | re.ASCII,
)
_ESCAPED = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def load_env(path: str | Path = ".env") -> bool:
    r"""Set environment variables from a file, unless they are already set; empty values are skipped.

    A line is `NAME=value`, optionally with `export` before it, quotes around the value and `# a comment` after it. In double
    quotes, `\n`, `\t`, `\"` and `\\` are escape sequences. Variables are not expanded.

    Args:
        path: The file, relative to the working directory.

    Returns:
        Whether the file exists.

    Raises:
        DefinitionError: The file cannot be read, or a line is invalid; no variable has been set.
    """
    file = Path(path)
    try:
        text = file.read_text("utf-8-sig")
    except FileNotFoundError:
        return False
    except (OSError, UnicodeDecodeError) as error:
        raise DefinitionError(f"cannot read `{file.absolute()}`: {error}") from error
    variables: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            name, value = _parse_line(line, f"`{file.absolute()}`, line {number}")
            variables[name] = value
    for name, value in variables.items():
        if value:
            os.environ.setdefault(name, value)
    return True


def _parse_line(line: str, location: str) -> tuple[str, str]:
    match = _LINE.fullmatch(line)
    if match is None or "\0" in line:
        # The message leaves the line out, because it may contain a key.
        raise DefinitionError(
            f"{location}: not a variable; write `NAME=value`, with quotes around a value that contains spaces"
        )
    quoted = match["quoted"]
    if quoted is not None:
        return match["name"], re.sub(r"\\(.)", lambda escape: _ESCAPED.get(escape[1], escape[0]), quoted)
    return match["name"], match["literal"] if match["literal"] is not None else match["bare"] or ""
