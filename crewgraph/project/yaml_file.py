"""YAML files whose entries know their lines."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import yaml
from yaml.parser import ParserError
from yaml.reader import ReaderError
from yaml.scanner import ScannerError

from crewgraph.definitions.section import Section
from crewgraph.errors import DefinitionError, Fault

__all__ = ["read_yaml"]

_MERGE = "tag:yaml.org,2002:merge"
_TEXT = "tag:yaml.org,2002:str"
_ADVICE = (
    "Indent with spaces; quote a text that holds `: ` or ` #`, or begins with a sign such as `{`, `[`, `*`, `@` or `%`"
)


def read_yaml(path: Path, shown: str) -> tuple[dict[str, Any], dict[str, int]]:
    """The entries of a file, each mapping as a `Section`, and the line of each entry.

    Args:
        path: where it is; read as UTF-8.
        shown: how messages name it.

    Raises:
        DefinitionError: it cannot be read, is no YAML, has a key twice, or is no mapping of names to values.
    """
    text = _text(path, shown)
    try:
        loader = yaml.SafeLoader(text)
        try:
            root = loader.get_single_node()
            lines = _lines_of_entries(root, shown)  # first: constructing merges what `<<` names into the nodes
            data = cast(dict[str, Any] | None, None if root is None else loader.construct_document(root))
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{shown}:{mark.line + 1}:{mark.column + 1}" if mark else shown
        what = ", ".join(filter(None, (error.context, error.problem)))
        advice = f". {_ADVICE}" if isinstance(error, (ParserError, ScannerError)) else ""
        raise DefinitionError(f"{place}: this is no YAML: {what}{advice}") from error
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise DefinitionError(f"{shown}:{line}: this is no YAML: it holds a control character; take it out") from error
    entries = {
        name: Section(cast(dict[str, Any], values), name=name, place=shown, lines=lines.get(name))
        if isinstance(values, dict)
        else values
        for name, values in (data or {}).items()
    }
    return entries, {name: of_keys[""] for name, of_keys in lines.items()}


def _text(path: Path, shown: str) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise DefinitionError(f"{shown}:{line}: the file is not UTF-8; save it as UTF-8") from error
    except OSError as error:
        raise DefinitionError(f"{shown}: the file cannot be read: {error.strerror or error}") from error


def _lines_of_entries(root: yaml.Node | None, shown: str) -> dict[str, dict[str, int]]:
    """The line of each key of each entry; that of the entry under ""."""
    if root is None or _is_empty(root):
        return {}
    if not isinstance(root, yaml.MappingNode):
        kind = "a list" if isinstance(root, yaml.SequenceNode) else "a text"
        raise DefinitionError(
            f"{shown}:{_line(root)}: the file holds {kind}. It has to hold names, each with its keys and values below it."
        )
    faults = [*_faults(root, shown, set())]
    if faults:
        raise DefinitionError(faults)
    nodes = {key.value: node for key, node in _pairs(root)}
    return {name: {**(_lines(nodes[name]) if name in nodes else {}), "": line} for name, line in _lines(root).items()}


def _is_empty(root: yaml.Node) -> bool:
    return isinstance(root, yaml.ScalarNode) and root.tag == "tag:yaml.org,2002:null"


def _faults(node: yaml.Node, shown: str, seen: set[int], depth: int = 0) -> Iterator[Fault]:
    """Keys that stand twice, and names of entries and keys that YAML does not read as texts."""
    if id(node) in seen:  # an alias
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for one in cast(list[yaml.Node], node.value):
            yield from _faults(one, shown, seen, depth + 1)
    first: dict[tuple[str, str], int] = {}
    for key, value in _pairs(node):
        name = str(key.value) if isinstance(key, yaml.ScalarNode) else "{...}"
        written = (key.tag, name)
        if written in first and isinstance(key, yaml.ScalarNode):
            what = f"`{name}` stands here for the second time, after line {first[written]}."
            yield Fault(where=f"{shown}:{_line(key)}", what=what, remedy="Keep one of them.")
        if depth < 2 and key.tag != _TEXT:
            what = f"YAML reads the name `{name}` as {key.tag.rpartition(':')[2]}, not as a text."
            yield Fault(where=f"{shown}:{_line(key)}", what=what, remedy="Put it into quotes.")
        first.setdefault(written, _line(key))
        yield from _faults(value, shown, seen, depth + 1)


def _lines(node: yaml.Node) -> dict[str, int]:
    """The line of each key of a mapping, from 1, those that it merges in included."""
    merged: dict[str, int] = {}
    for source in _merged(node):
        merged = {**_lines(source), **merged}
    return {**merged, **{str(key.value): _line(key) for key, _ in _pairs(node)}}


def _merged(node: yaml.Node) -> Iterator[yaml.Node]:
    for key, value in _all_pairs(node):
        if key.tag == _MERGE:
            yield from cast(list[yaml.Node], value.value) if isinstance(value, yaml.SequenceNode) else [value]


def _pairs(node: yaml.Node) -> list[tuple[yaml.Node, yaml.Node]]:
    """The keys and values that a mapping has itself."""
    return [(key, value) for key, value in _all_pairs(node) if key.tag != _MERGE]


def _all_pairs(node: yaml.Node) -> list[tuple[yaml.Node, yaml.Node]]:
    return node.value if isinstance(node, yaml.MappingNode) else []


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1
