"""A Python file, rewritten."""

from collections.abc import Mapping
from difflib import SequenceMatcher
from types import MappingProxyType

import libcst

from crewgraph_compat.moving.reading.files import is_utf16, parse_python, read_error, syntax_error
from crewgraph_compat.moving.reading.types import OwnClass
from crewgraph_compat.moving.rewriting.calls import rewrite_attributes, rewrite_calls
from crewgraph_compat.moving.rewriting.classes import rewrite_sources, rewrite_tools
from crewgraph_compat.moving.rewriting.imports import rewrite_imports, rewrite_strings
from crewgraph_compat.moving.rewriting.modules import rewrite_paths, split_module_imports
from crewgraph_compat.moving.rewriting.outputs import rewrite_outputs
from crewgraph_compat.moving.rewriting.tree import ExpressionTypes, MigrationNote, SourceTree

__all__ = ["UnreadableSource", "rewrite_program"]

_SIGNS = (b"crewai", b"langchain", b"crewgraph")
"""A file without any of these has nothing to rewrite."""


class UnreadableSource(ValueError):
    """A file that cannot be rewritten; the message says why."""

    def __init__(self, why: str, line: int = 1) -> None:
        super().__init__(why)
        self.lineno = line


def rewrite_program(
    data: bytes, file: str, classes: Mapping[str, OwnClass] = MappingProxyType({})
) -> tuple[bytes, list[MigrationNote]]:
    """A Python file as it is to be, and what people have to look at.

    What is not rewritten stays byte for byte. Rewriting what came of it changes nothing more.

    Args:
        data: the file.
        file: how it is called.
        classes: the classes of the project, of all its files, that are made of CrewAI's.

    Raises:
        Unreadable: it is no Python, or what would come of it is none.
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
    done = reading.rewritten().bytes
    if tree.bytes != data:
        done = _applied(data, tree.bytes, done)
    if done != data:
        _check(done)
    return done, sorted(set(reading.notes))


def _parsed(data: bytes) -> libcst.Module:
    try:
        return libcst.parse_module(data)
    except (libcst.ParserSyntaxError, UnicodeDecodeError, SyntaxError, LookupError) as error:
        raise _unreadable(error, data) from None


def _unreadable(error: Exception, data: bytes) -> UnreadableSource:
    """In Python's own words, where it takes the file no more than libcst does."""
    line, why = read_error(syntax_error(data) or error if isinstance(error, libcst.ParserSyntaxError) else error, data)
    return UnreadableSource(f"it cannot be read as Python: {why}", line)


def _applied(data: bytes, before: bytes, after: bytes) -> bytes:
    """A file with the lines changed that differ between two versions of it.

    libcst does not give all files back as they were: blank lines between comments at the end may go.

    Raises:
        Unreadable: what is to change is not as it was, either.
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
            raise UnreadableSource("it would not stay as it is elsewhere: it ends in comments that libcst changes")
        lines[where : where + len(there)] = new[first:last]
    return b"".join(lines)


def _check(done: bytes) -> None:
    try:
        parse_python(done)
    except (SyntaxError, ValueError) as error:
        raise UnreadableSource(f"it would be no Python any more ({error}); it stays as it is") from None
