"""`.env`: a project's keys, in a file that is not committed."""

import os
import re
from pathlib import Path

from crewgraph.errors import DefinitionError

__all__ = ["load_env"]

_LINE = re.compile(
    r"""\s*(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*
    (?:'(?P<literal>[^']*)'|"(?P<quoted>(?:\\.|[^"\\])*)"|(?P<bare>(?!['"]).*?))
    \s*(?:(?<=\s)\#.*)?""",
    re.VERBOSE | re.ASCII,
)
_ESCAPED = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def load_env(path: str | Path = ".env") -> bool:
    r"""Put the variables of a file into the environment, where they are not set yet; empty ones are left out.

    A line is `NAME=value`, also with `export` before it, quotes around the value and `# a comment` behind it. In double
    quotes a backslash escapes: `\n`, `\t`, `\"`, `\\`. Nothing is expanded.

    Args:
        path: the file; relative to the working directory.

    Returns:
        Whether there is such a file.

    Raises:
        DefinitionError: it cannot be read, or a line is none of these; no variable was set.
    """
    file = Path(path)
    try:
        text = file.read_text("utf-8-sig")
    except FileNotFoundError:
        return False
    except (OSError, UnicodeDecodeError) as error:
        raise DefinitionError(f"`{file.absolute()}` cannot be read: {error}") from error
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            name, value = _read(line, f"`{file.absolute()}`, line {number}")
            found[name] = value
    for name, value in found.items():
        if value:
            os.environ.setdefault(name, value)
    return True


def _read(line: str, where: str) -> tuple[str, str]:
    match = _LINE.fullmatch(line)
    if match is None or "\0" in line:
        # The line itself is not told: it may hold a key.
        raise DefinitionError(
            f"{where}: is no variable; write `NAME=value`, with the value in quotes where it has spaces"
        )
    quoted = match["quoted"]
    if quoted is not None:
        return match["name"], re.sub(r"\\(.)", lambda found: _ESCAPED.get(found[1], found[0]), quoted)
    return match["name"], match["literal"] if match["literal"] is not None else match["bare"] or ""
