"""Rewrite `from crewai... import ...` and dotted paths in strings to crewgraph's modules."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import libcst

from crewgraph_compat.moving.names import (
    import_location,
    is_module,
    module_location,
    replacement_of,
    resolve_moved_name,
)
from crewgraph_compat.moving.rewriting.tree import SourceTree, dotted_path, path_expression
from crewgraph_compat.surface.absent import reason
from crewgraph_compat.surface.names import names_of

TOOLS_NOTE = (
    "`crewai_tools` imports crewai: run the program with `crewgraph run`, or call `crewgraph_compat.install()` "
    "before the import."
)
"""The note added where the tools package is used."""

_Location = tuple[str, str]
"""A module and a name in it."""

_MovedName = tuple[libcst.ImportAlias, _Location | None]
"""An imported name and its new location; None if it has not moved."""


def is_crewai_path(path: str) -> bool:
    """Whether a path belongs to the package crewai (`crewai_tools` is a different package)."""
    return path == "crewai" or path.startswith("crewai.")


def new_location(path: str) -> _Location | None:
    """Return the current location of a crewai name, or of one that older programs import from LangChain."""
    name = resolve_moved_name(path)
    return replacement_of(path) if name is None else import_location(name)


def absent_note(path: str) -> str:
    """Return the note on a name that crewgraph does not have."""
    why = reason(path) or "crewgraph does not have it."
    return f"`{path}` is left unchanged: {why}"


def rewrite_imports(reading: SourceTree) -> None:
    """Rewrite every `from ... import` of crewai names, and of names that have moved."""
    _note_tools(reading)
    for line in reading.of(libcst.SimpleStatementLine, libcst.SimpleStatementSuite):
        built: dict[Any, list[_MovedName]] = {
            statement: moved
            for statement in line.body
            if isinstance(statement, libcst.ImportFrom) and (moved := _moved(reading, statement)) is not None
        }
        if not built:
            continue
        if isinstance(line, libcst.SimpleStatementLine) and len(line.body) == 1:
            [moved] = built.values()
            reading.change(line, lambda updated, moved=moved: _lines(updated, moved))
        else:
            places = [built.get(statement) for statement in line.body]
            reading.change(line, lambda updated, places=places: _next_to(updated, places))


def _note_tools(reading: SourceTree) -> None:
    """Add one note that a file needs the tools package."""
    for statement in reading.of(libcst.ImportFrom):
        module = dotted_path(statement.module) or ""
        if module.partition(".")[0] != "crewai_tools" or isinstance(statement.names, libcst.ImportStar):
            continue
        if any(new_location(f"{module}.{dotted_path(alias.name)}") is None for alias in statement.names):
            reading.note(statement, TOOLS_NOTE)
            return


def _moved(reading: SourceTree, statement: libcst.ImportFrom) -> list[_MovedName] | None:
    """Return the new locations of a statement's names, or None if it is left unchanged."""
    module = dotted_path(statement.module) if not statement.relative else None
    if module is None:
        return None
    if isinstance(statement.names, libcst.ImportStar):
        return _star(reading, statement, module)
    moved: list[_MovedName] = []
    for alias in statement.names:
        path = f"{module}.{dotted_path(alias.name)}"
        where = None if is_module(path) else new_location(path)  # `rewrite_paths` handles modules
        if where is None and not is_module(path) and is_crewai_path(path):
            reading.note(statement, absent_note(path), left=True)
        moved.append((alias, where))
    return moved if any(where is not None for _, where in moved) else None


def _star(reading: SourceTree, statement: libcst.ImportFrom, module: str) -> list[_MovedName] | None:
    if not is_crewai_path(module):
        return None
    used = {node.value for node in reading.of(libcst.Name)}
    names = sorted(used & set(names_of(module)))
    if not names:
        reading.note(
            statement, f"`from {module} import *` is left unchanged: nothing in this file seems to use it.", left=True
        )
        return None
    reading.note(
        statement,
        f"`from {module} import *` now lists the names used here; other files may import more from it.",
    )
    return [(libcst.ImportAlias(libcst.Name(name)), new_location(f"{module}.{name}")) for name in names]


def _lines(line: libcst.SimpleStatementLine, moved: Sequence[_MovedName]) -> Any:
    """Return one line per module; leading comments go to the first, trailing comments to the last."""
    statement: Any = line.body[0]
    built = _statements(statement, moved)
    lines = [libcst.SimpleStatementLine([item]) for item in built]
    lines[0] = lines[0].with_changes(leading_lines=line.leading_lines)
    lost = Counter(_comments(statement)) - Counter(_comments(built[0]))
    behind = line.trailing_whitespace
    if lost:  # comments of names that moved to the other lines
        own = [] if behind.comment is None else [behind.comment.value]
        comment = libcst.Comment("  ".join([*lost.elements(), *own]))
        behind = behind.with_changes(whitespace=libcst.SimpleWhitespace("  "), comment=comment)
    lines[-1] = lines[-1].with_changes(trailing_whitespace=behind)
    return libcst.FlattenSentinel(lines)


def _next_to(line: Any, places: Sequence[Sequence[_MovedName] | None]) -> Any:
    """Return the statements of a line that contains several."""
    body: list[Any] = []
    for statement, moved in zip(line.body, places, strict=True):
        if moved is None:
            body.append(statement)
            continue
        built = _statements(statement, moved)
        body += [item.with_changes(semicolon=libcst.MaybeSentinel.DEFAULT) for item in built[:-1]]
        body.append(built[-1].with_changes(semicolon=statement.semicolon))
    return line.with_changes(body=body)


def _statements(statement: libcst.ImportFrom, moved: Sequence[_MovedName]) -> list[libcst.ImportFrom]:
    """Return one statement per module, in the order of the names; the first keeps its formatting."""
    modules: dict[str, list[libcst.ImportAlias]] = defaultdict(list)
    was = dotted_path(statement.module) or ""
    for alias, where in moved:
        modules[was if where is None else where[0]].append(alias if where is None else _named(alias, where[1]))
    result: list[libcst.ImportFrom] = []
    for module, names in modules.items():
        if result or isinstance(statement.names, libcst.ImportStar):
            plain = [name.with_changes(comma=libcst.MaybeSentinel.DEFAULT) for name in names]
            result.append(libcst.ImportFrom(path_expression(module), plain))
        else:
            names[-1] = names[-1].with_changes(comma=_last_comma(names[-1].comma, statement.names[-1].comma))
            result.append(statement.with_changes(module=path_expression(module), names=names))
    return result


def _last_comma(own: Any, last: Any) -> Any:
    """Return the whitespace after a name that has become the last one: its own comment, and the original indent."""
    own_space, last_space = getattr(own, "whitespace_after", None), getattr(last, "whitespace_after", None)
    if isinstance(own_space, libcst.ParenthesizedWhitespace) and isinstance(last_space, libcst.ParenthesizedWhitespace):
        return last.with_changes(whitespace_after=last_space.with_changes(first_line=own_space.first_line))
    return last


def _named(alias: libcst.ImportAlias, name: str) -> libcst.ImportAlias:
    """Return an import alias under the new name that keeps the local name."""
    called = dotted_path(alias.name)
    if called == name:
        return alias
    if alias.asname is None:
        return alias.with_changes(name=libcst.Name(name), asname=libcst.AsName(libcst.Name(called or name)))
    same = isinstance(alias.asname.name, libcst.Name) and alias.asname.name.value == name
    return alias.with_changes(name=libcst.Name(name), asname=None if same else alias.asname)


def _comments(node: libcst.CSTNode) -> Iterator[str]:
    for child in node.children:
        if isinstance(child, libcst.Comment):
            yield child.value
        yield from _comments(child)


_IMPORTING = frozenset({"importlib.import_module", "importlib.util.find_spec", "pytest.importorskip"})
"""Functions that import the module named by their argument, or check that it exists."""

_IMPORT = re.compile(
    r"^[ \t]*+(?:from|import)[ \t]++crewai(?:_tools)?\b(?:\.[\w.]++)?[ \t]*+(?:$|import\b|as\b|,)", re.MULTILINE
)
_PATH = re.compile(r"crewai(?:\.[A-Za-z_]\w*)*")


def rewrite_strings(reading: SourceTree) -> None:
    """Rewrite strings that consist of a crewai path; modules that no function imports get a note."""
    for text in reading.of(libcst.SimpleString):
        value = text.raw_value
        if "b" in text.prefix.lower() or not _PATH.fullmatch(value) or isinstance(reading.parent(text), libcst.Expr):
            continue
        name = None if is_module(value) else resolve_moved_name(value)
        module = module_location(value) if is_module(value) else None
        if name is not None:
            path = ".".join([*import_location(name), *name.rest])
            spelled = f"{text.prefix}{text.quote}{path}{text.quote}"
            reading.change(text, lambda updated, spelled=spelled: updated.with_changes(value=spelled))
        elif module is not None and _imported_by(reading, text) in _IMPORTING:
            spelled = f"{text.prefix}{text.quote}{module}{text.quote}"
            reading.change(text, lambda updated, spelled=spelled: updated.with_changes(value=spelled))
            if value != "crewai":
                reading.note(text, f"`{value}` is used as a module; `{module}` may not have all of its names.")
        elif value != "crewai" or _is_requested(reading, text):
            here = "crewgraph has its own" if module is None else f"it is `{module}` in crewgraph"
            left = _imported_by(reading, text) in _IMPORTING
            reading.note(text, f'the string "{value}" is left unchanged; if it names a module, {here}.', left=left)
    for text in reading.of(libcst.SimpleString, libcst.FormattedStringText):
        if _IMPORT.search(_text_of(text)) and not isinstance(reading.parent(text), libcst.Expr):
            message = (
                "this text imports crewai and is left unchanged; run the program made from it with `crewgraph run`."
            )
            reading.note(text, message, left=True)


def _text_of(text: libcst.SimpleString | libcst.FormattedStringText) -> str:
    value = text.raw_value if isinstance(text, libcst.SimpleString) else text.value
    return value.replace("\\n", "\n")


def _imported_by(reading: SourceTree, text: libcst.SimpleString) -> str | None:
    """Return the function called with a string as first argument."""
    call = reading.parent(reading.parent(text) or text)
    if not isinstance(call, libcst.Call) or call.args[0].value is not text:
        return None
    return reading.path(call.func) or dotted_path(call.func)


def _is_requested(reading: SourceTree, text: libcst.SimpleString) -> bool:
    """Whether the function called with a name imports, finds or logs it."""
    parent = reading.parent(text)
    call = reading.parent(parent) if isinstance(parent, libcst.Arg) else None
    return isinstance(call, libcst.Call)
