"""Kickoff callbacks of a crew: the user's functions, each in its own node."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable
from typing import Any

from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph_compat.eject.writing.parts import ProgramWriters

_NODE = 8


class CallbackInputs:
    """The inputs passed to a crew, and those that its functions create.

    Args:
        placeholders: the inputs that the crew's texts need.
        functions: the functions called before the tasks.
    """

    def __init__(self, placeholders: Iterable[str], functions: Iterable[Callable[..., Any]]) -> None:
        read, tested, created = set[str](), set[str](), set[str]()
        for function in functions:
            for name, kind in _keys(function):
                {"read": read, "tested": tested, "created": created}[kind].add(name)
        self.created = sorted(created - read - tested)
        """Inputs that the functions create."""

        self.needed = sorted((set(placeholders) | read) - created - tested | read)
        """Required inputs."""

        self.optional = sorted(tested - read)
        """Optional inputs."""

    @property
    def known(self) -> list[str]:
        """Return all inputs."""
        return sorted({*self.created, *self.needed, *self.optional})


class KickoffCallbacks:
    """Write the callbacks before and after the tasks of a crew.

    Args:
        crew: the crew.
        parts: the program and the writers of its parts.
    """

    def __init__(self, crew: CrewDefinition, parts: ProgramWriters) -> None:
        self._crew, self._parts = crew, parts
        self._before: list[str] = []
        self._after: list[str] = []
        self.begin = self.end = ""
        """The functions of the nodes; empty if there are none."""

    def read(self) -> None:
        """Add the user's functions."""
        parts, crew = self._parts, self._crew
        self._before = [
            parts.lifter.value(item, f"the before_kickoff function of crew `{crew.name}`") or "None"
            for item in crew.before_kickoff_callbacks
        ]
        self._after = [
            parts.lifter.value(item, f"the after_kickoff function of crew `{crew.name}`") or "None"
            for item in crew.after_kickoff_callbacks
        ]

    def write_begin(self, inputs: str) -> None:
        """Write the node before the tasks.

        Args:
            inputs: the class of the inputs.
        """
        if self._before:
            self.begin = self._parts.sheet.names.new("prepare", "_inputs")
            self._parts.sheet.use("typing", "Any")
            lines = ["inputs: dict[str, Any] = {**state}"]
            lines += [f"inputs = {item}(inputs) or inputs" for item in self._before[:-1]]
            lines.append(f"return {self._before[-1]}(inputs) or inputs")
            self._add(self.begin, inputs, "dict[str, Any]", "Prepare the inputs.", lines)

    def write_end(self, state: str, output: str) -> None:
        """Write the node after the tasks, whose result is the crew's result.

        Args:
            state: the class of the state.
            output: the expression for the crew's output.
        """
        lines = [f"output = {output}", *(f"output = {item}(output) or output" for item in self._after)]
        message = "Process the result."
        self._add(self.end, state, "dict[str, str]", message, [*lines, 'return {"result": output.raw}'])

    def name_end(self) -> bool:
        """Name the node after the tasks, if there is one."""
        if self._after:
            self.end = self._parts.sheet.names.new("finish", "_crew")
        return bool(self._after)

    def _add(self, name: str, takes: str, gives: str, summary: str, lines: list[str]) -> None:
        body = "\n".join(f"    {line}" for line in lines)
        self._parts.sheet.add(f'def {name}(state: {takes}) -> {gives}:\n    """{summary}"""\n{body}', _NODE)


def _keys(function: Callable[..., Any]) -> Iterable[tuple[str, str]]:
    """Return the input names that a function mentions, and whether it reads, tests or creates each."""
    plain = inspect.unwrap(function)
    try:
        tree: Any = ast.parse(textwrap.dedent(inspect.getsource(plain))).body[0]
    except (OSError, SyntaxError):  # reported when the function is copied
        return
    if not isinstance(tree, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    names = [arg.arg for arg in tree.args.args]
    value = names[1:2] if inspect.ismethod(plain) else names[:1]
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key)), ctx=ctx) if name in value:
                yield key, "read" if isinstance(ctx, ast.Load) else "created"
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="get" | "setdefault" | "pop"),
                args=[ast.Constant(value=str(key)), *_],
            ) if name in value:
                yield key, "tested"
            case ast.Compare(left=ast.Constant(value=str(key)), comparators=[ast.Name(id=name)]) if name in value:
                yield key, "tested"
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="update"), args=[ast.Dict() as entries]) if (
                name in value
            ):
                yield from _literal_keys(entries)
            case ast.Return(value=ast.Dict() as entries):
                yield from _literal_keys(entries)
            case _:
                continue


def _literal_keys(entries: ast.Dict) -> Iterable[tuple[str, str]]:
    for key in entries.keys:
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value, "created"
