"""Edits to source text that preserve the rest, and expressions evaluated before a run."""

import ast
import builtins
import copy
import linecache
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType
from typing import Any, cast


class SourceEdits:
    """Changes to a text at the positions of its syntax nodes.

    Args:
        text: the text.
        tree: its syntax tree.
    """

    def __init__(self, text: str, tree: ast.AST) -> None:
        self._formatted: dict[int, ast.JoinedStr] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                for inner in ast.walk(node):
                    self._formatted.setdefault(id(inner), node)
        self._within: dict[int, tuple[ast.JoinedStr, dict[int, str]]] = {}
        self._text = text
        lines = text.splitlines(keepends=True)
        self._lines = [line.encode() for line in lines]
        self._starts: list[int] = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))
        self._changes: list[tuple[int, int, str]] = []

    def replace(self, node: ast.AST, text: str) -> None:
        """Replace the text of a node."""
        around = self._formatted.get(id(node))
        if around is not None and around is not node:  # nodes within f-strings have no positions
            self._within.setdefault(id(around), (around, {}))[1][id(node)] = text
            return
        start, end = self.span(node)
        self._changes.append((start, end, text))

    def remove_lines(self, statement: Any) -> None:
        """Remove the lines of a statement."""
        self._changes.append((self._starts[int(statement.lineno) - 1], self._starts[int(statement.end_lineno)], ""))

    def span(self, node: Any) -> tuple[int, int]:
        """Return the start and end of a node as byte offsets."""
        start = self._starts[int(node.lineno) - 1] + int(node.col_offset)
        return start, self._starts[int(node.end_lineno) - 1] + int(node.end_col_offset)

    def part(self, node: ast.AST) -> str:
        """Return the text of a node."""
        start, end = self.span(node)
        return b"".join(self._lines)[start:end].decode()

    def part_within(self, node: ast.AST, first: Any, last: Any) -> str:
        """Return the text of a node from its first to its last part, including keyword names."""
        if id(node) in self._formatted:
            call: Any = node
            return ", ".join(
                [
                    *map(ast.unparse, call.args),
                    *(f"{keyword.arg}={ast.unparse(keyword.value)}" for keyword in call.keywords),
                ]
            )
        full = self.part(node)
        start = self.span(first)[0] - self.span(node)[0]
        end = self.span(last)[1] - self.span(node)[0]
        head = full.encode()[:start].decode()
        return head[head.rindex("(") + 1 :].lstrip() + full.encode()[start:end].decode()

    def drop_first_parameter(self, function: Any) -> None:
        """Remove the first parameter of a function."""
        first, following = function.args.args[0], [*function.args.args[1:], *function.args.kwonlyargs]
        start, end = self.span(first)
        variadic = [item for item in (function.args.vararg, function.args.kwarg) if item is not None]
        if following:
            end = self.span(following[0])[0]
            if function.args.kwonlyargs and following[0] is function.args.kwonlyargs[0]:
                end = start + b"".join(self._lines)[start:end].index(b"*")
        elif variadic:
            end = start + b"".join(self._lines)[start : self.span(variadic[0])[0]].index(b"*")
        self._changes.append((start, end, ""))

    def replace_statement(self, statement: ast.AST, text: str) -> None:
        """Replace the text of a statement, which already includes the changes within it."""
        start, end = self.span(statement)
        self._changes.append((start, end, text))

    def inner(self, node: ast.AST) -> str:
        """Return the text of a node with the changes within it."""
        start, end = self.span(node)
        return self._applied(start, end)

    def current(self, node: ast.AST) -> str:
        """Return the text of a node with the changes within it, but unchanged in an f-string, which has no positions."""
        around = self._formatted.get(id(node))
        return self.inner(node) if around is None or around is node else ast.unparse(node)

    def done_from(self, node: ast.AST) -> str:
        """Return the text from the line of a node on, with the changes."""
        start = self._starts[getattr(node, "lineno", 1) - 1]
        return self._applied(start, self._starts[-1])

    def done(self) -> str:
        """Return the text with the changes; outer changes replace the ones within them."""
        return self._applied(0, self._starts[-1])

    def _applied(self, first: int, last: int) -> str:
        """Return a part of the text with the changes within it."""
        within = [(*self.span(around), _reworded(around, changed)) for around, changed in self._within.values()]
        remaining: list[tuple[int, int, str]] = []
        for start, end, text in sorted([*self._changes, *within], key=lambda built: (built[0], -built[1])):
            if first <= start and end <= last and (not remaining or start >= remaining[-1][1]):
                remaining.append((start, end, text))
        data, at = b"".join(self._lines), first
        parts: list[str] = []
        for start, end, text in remaining:
            parts += [data[at:start].decode(), text]
            at = end
        return "".join([*parts, data[at:last].decode()])


def _reworded(formatted: ast.JoinedStr, changed: dict[int, str]) -> str:
    """Return an f-string with replaced expressions; the tree itself is left as it is."""

    def again(node: Any) -> Any:
        if isinstance(node, list):
            return [again(item) for item in cast("list[Any]", node)]
        if not isinstance(node, ast.AST):
            return node
        if id(node) in changed:
            return ast.parse(changed[id(node)], mode="eval").body
        copied = copy.copy(node)
        for name, value in ast.iter_fields(node):
            setattr(copied, name, again(value))
        return copied

    return ast.unparse(again(formatted))


def evaluate_definition(node: ast.AST, named: Callable[[str], Any]) -> Any:
    """Return the value of an expression made of calls, names, attributes and plain data.

    A lambda is known if it uses only its parameters.

    Args:
        node: the expression.
        named: returns the value of a name.

    Raises:
        LookupError: it contains another kind of expression or an unknown name.
    """

    def again(inner: ast.AST) -> Any:
        return evaluate_definition(inner, named)

    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return named(name)
        case ast.Attribute(value=inner, attr=attr):
            return getattr(again(inner), attr)
        case ast.Call(func=function, args=args, keywords=words):
            values = {word.arg: again(word.value) for word in words if word.arg is not None}
            return again(function)(*[again(arg) for arg in args], **values)
        case ast.Lambda():
            return _lambda(node)
        case _:
            return _data(node, again)


def _lambda(node: ast.Lambda) -> Any:
    """Return a function with only the lambda's source."""
    used = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    known = {inner.arg for inner in ast.walk(node) if isinstance(inner, ast.arg)}
    if used - known - set(dir(builtins)) or node.args.defaults or node.args.kw_defaults:
        raise LookupError(f"`{ast.unparse(node)}` is only known during a run")
    source = ast.unparse(node)
    file = f"<{source}>"
    linecache.cache[file] = (len(source), None, [f"{source}\n"], file)
    code = next(item for item in compile(source, file, "eval").co_consts if isinstance(item, CodeType))
    return FunctionType(code, {"__file__": file})


def _data(node: ast.AST, again: Callable[[ast.AST], Any]) -> Any:
    """Return the value of a list, a dict, a number or a composed text."""
    match node:
        case ast.List(elts=elements):
            return [again(item) for item in elements]
        case ast.Tuple(elts=elements):
            return tuple(again(item) for item in elements)
        case ast.Dict(keys=keys, values=values):
            return {again(key): again(value) for key, value in zip(keys, values, strict=True) if key is not None}
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -again(inner)
        case ast.JoinedStr(values=parts):
            return "".join(str(again(part)) for part in parts)
        case ast.FormattedValue(value=inner):
            return again(inner)
        case _:
            raise LookupError(f"`{ast.unparse(node)}` is only known during a run")


def global_value(name: str, values: Mapping[str, Any]) -> Any:
    """Return the value of a global name.

    Raises:
        LookupError: the name is not defined.
    """
    if name in values:
        return values[name]
    result = getattr(builtins, name, None)
    if result is None:
        raise LookupError(f"`{name}` is only known during a run")
    return result
