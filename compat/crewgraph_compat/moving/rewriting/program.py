"""Rewrite a Python file."""

from collections.abc import Mapping
from difflib import SequenceMatcher
from types import MappingProxyType

import libcst

from crewgraph_compat.moving.reading.files import is_utf16, parse_python, read_error, syntax_error
from crewgraph_compat.moving.reading.types import OwnClass
from crewgraph_compat.moving.rewriting.calls import rewrite_attributes, rewrite_awaited, rewrite_calls
from crewgraph_compat.moving.rewriting.classes import rewrite_sources, rewrite_tools
from crewgraph_compat.moving.rewriting.imports import rewrite_imports, rewrite_strings
from crewgraph_compat.moving.rewriting.modules import rewrite_paths, split_module_imports
from crewgraph_compat.moving.rewriting.outputs import rewrite_outputs
from crewgraph_compat.moving.rewriting.tree import ExpressionTypes, MigrationNote, SourceTree

_SIGNS = (b"crewai", b"langchain", b"crewgraph")
"""A file that contains none of these has nothing to rewrite."""


class UnreadableSource(ValueError):
    """A file that cannot be rewritten; the message says why."""

    def __init__(self, why: str, line: int = 1) -> None:
        super().__init__(why)
        self.lineno = line


def rewrite_program(
    data: bytes, file: str, classes: Mapping[str, OwnClass] = MappingProxyType({})
) -> tuple[bytes, list[MigrationNote]]:
    """Return the rewritten file and notes on what has to be reviewed by hand.

    Everything that is not rewritten is preserved byte for byte. Rewriting is idempotent.

    Args:
        data: The content of the file.
        file: Its displayed path.
        classes: The classes of the whole project that derive from CrewAI's.

    Raises:
        UnreadableSource: The content is not valid Python, or the result would not be.
    """
    signs = (*_SIGNS, *(name.encode() for name in classes))
    if not any(sign in data for sign in signs) and not is_utf16(data):
        return data, []
    tree = _parsed(data)
    parting = SourceTree(tree, file)
    split_module_imports(parting)
    reading = SourceTree(parting.rewritten(), file)
    for rule in (rewrite_imports, rewrite_paths, rewrite_strings, rewrite_calls):
        rule(reading)
    for rule in (rewrite_tools, rewrite_sources):
        rule(reading, classes)
    known = ExpressionTypes(reading, classes)
    rewrite_attributes(reading, known)
    rewrite_outputs(reading, known)
    rewrite_awaited(reading, known)
    done = reading.rewritten().bytes
    if tree.bytes != data:
        done = _applied(data, tree.bytes, done)
    if done != data:
        _check(done)
    return done, sorted(set(reading.notes))


def _parsed(data: bytes) -> libcst.Module:
    if (refused := syntax_error(data)) is not None:  # libcst would end the process if the program is nested too deeply
        raise _unreadable(refused, data)
    try:
        return libcst.parse_module(data)
    except (libcst.ParserSyntaxError, UnicodeDecodeError, SyntaxError, LookupError) as error:
        raise _unreadable(error, data) from None


def _unreadable(error: Exception, data: bytes) -> UnreadableSource:
    """Convert a parse error, preferring Python's own message over libcst's."""
    line, why = read_error(syntax_error(data) or error if isinstance(error, libcst.ParserSyntaxError) else error, data)
    return UnreadableSource(f"the file is not valid Python: {why}", line)


def _applied(data: bytes, before: bytes, after: bytes) -> bytes:
    """Apply the lines that differ between two versions to the original file.

    libcst does not round-trip every file: blank lines between trailing comments may be lost.

    Raises:
        UnreadableSource: The lines to change do not match the original.
    """
    lines, old, new = (version.splitlines(keepends=True) for version in (data, before, after))
    places = {
        block.b + item: block.a + item
        for block in SequenceMatcher(None, lines, old, autojunk=False).get_matching_blocks()
        for item in range(block.size)
    }
    for tag, start, end, first, last in reversed(SequenceMatcher(None, old, new, autojunk=False).get_opcodes()):
        if tag == "equal":
            continue
        there = [places.get(line) for line in range(start, end)]
        where = there[0] if there else places.get(start - 1, -1) + 1
        if where is None or there != list(range(where, where + len(there))):
            raise UnreadableSource("the file ends in comments that libcst does not preserve")
        lines[where : where + len(there)] = new[first:last]
    return b"".join(lines)


def _check(done: bytes) -> None:
    try:
        parse_python(done)
    except (SyntaxError, ValueError) as error:
        raise UnreadableSource(f"the result would not be valid Python ({error}); the file is left unchanged") from None
