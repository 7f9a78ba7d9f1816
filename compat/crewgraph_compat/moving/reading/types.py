"""Infer statically which CrewAI class a value is an instance of."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from crewgraph_compat.moving.names import is_module, resolve_moved_name
from crewgraph_compat.moving.reading.keywords import takes_any_keyword

_AGENT = "crewgraph.agent:Agent"
_CREW = "crewgraph.crew:Crew"
CREW_OUTPUT = "crewgraph.definitions.task.output:CrewOutput"
CREW_STREAM = "crewgraph.definitions.chunks:CrewStreamingOutput"
_FLOW = "crewgraph.flow.flow:Flow"
_TASK = "crewgraph.task:Task"
_TASK_OUTPUT = "crewgraph.definitions.task.output:TaskOutput"

_METHOD_RESULTS: Mapping[tuple[str, str], str] = {
    (_AGENT, "kickoff"): "crewgraph.definitions.agent.output:LiteAgentOutput",
    (_AGENT, "kickoff_async"): "crewgraph.definitions.agent.output:LiteAgentOutput",
    (_CREW, "copy"): _CREW,
    (_CREW, "akickoff"): CREW_OUTPUT,
    (_CREW, "kickoff"): CREW_OUTPUT,
    (_CREW, "kickoff_async"): CREW_OUTPUT,
    (_CREW, "kickoff_for_each"): f"[]{CREW_OUTPUT}",
    (_CREW, "kickoff_for_each_async"): f"[]{CREW_OUTPUT}",
    (_CREW, "replay"): CREW_OUTPUT,
    (_TASK, "execute_sync"): _TASK_OUTPUT,
}
"""Return types of methods; a leading `[]` marks a list of the type."""

_ATTRIBUTE_TYPES: Mapping[tuple[str, str], str] = {
    (_CREW, "agents"): f"[]{_AGENT}",
    (_CREW, "tasks"): f"[]{_TASK}",
    (_CREW, "usage_metrics"): "crewgraph.llm.usage:UsageMetrics",
    (CREW_OUTPUT, "tasks_output"): f"[]{_TASK_OUTPUT}",
    (CREW_OUTPUT, "token_usage"): "crewgraph.llm.usage:UsageMetrics",
    (CREW_STREAM, "result"): CREW_OUTPUT,
    (_TASK, "agent"): _AGENT,
    (_TASK, "output"): _TASK_OUTPUT,
}
"""Types of attributes."""

INSTRUMENTOR = "opentelemetry.instrumentation.crewai"
"""The module of OpenTelemetry's instrumentor of CrewAI."""

MAY_STREAM = "?"
"""Ends the type of a crew that may stream, and of an output that may be a stream."""

_STREAMS = "~"
"""Ends the type of a crew that streams."""

_RESULT_BY_ROLE = {"agent": _AGENT, "task": _TASK, "crew": _CREW}
"""Return types of a project's methods, by their decorators."""


_PROPERTIES = frozenset({"cached_property", "property"})


@dataclass
class Imports:
    """The CrewAI imports of a file: dotted paths of crewai by the local names bound to them."""

    paths: dict[str, str] = field(default_factory=dict[str, str])

    sets_stream: bool = False
    """Whether the file sets an attribute `stream`, perhaps of a crew."""

    def path(self, node: ast.expr | None) -> str | None:
        """Return the dotted path that an expression refers to, or None if it is not CrewAI's."""
        if isinstance(node, ast.Subscript):  # Flow[State]
            return self.path(node.value)
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        root = self.paths.get(node.id) if isinstance(node, ast.Name) else None
        return None if root is None else ".".join([root, *reversed(parts)])

    def target(self, node: ast.expr | None) -> str | None:
        """Return the crewgraph "module:name" that an expression refers to; None for modules, attributes and others."""
        path = self.path(node)
        name = None if path is None or is_module(path) else resolve_moved_name(path)
        if name is None or name.rest or not name.module.startswith("crewgraph"):
            return None  # crewai's modules also re-export other packages, which may not be installed
        return name.target

    def result_type(self, call: ast.Call) -> str | None:
        """Return the type of the object that a call of a class creates; for a crew, also whether it streams."""
        kind = self.target(call.func)
        if kind != _CREW:
            return kind
        return f"{kind}{MAY_STREAM if self.sets_stream else _streaming(call)}"


def _streaming(call: ast.Call) -> str:
    """Return the ending of a crew's type: empty if the crew certainly does not stream."""
    stream_keywords = [item for item in call.keywords if item.arg in ("stream", None)]
    if not stream_keywords:
        return ""
    value = stream_keywords[0].value
    if len(stream_keywords) > 1 or stream_keywords[0].arg is None or not isinstance(value, ast.Constant):
        return MAY_STREAM
    return _STREAMS if value.value else ""


@dataclass
class OwnClass:
    """A class of the project: a subclass of one of CrewAI's, a `@CrewBase` project, or a class that creates CrewAI objects."""

    base: str
    """The "module:name" of its crewgraph base class; empty if it has none."""

    own: set[str] = field(default_factory=set[str])
    """The names that it defines itself."""

    makes: dict[str, str] = field(default_factory=dict[str, str])
    """Return types of its methods."""

    attributes: dict[str, str] = field(default_factory=dict[str, str])
    """Types of its instances' attributes."""

    properties: set[str] = field(default_factory=set[str])
    """The methods that are accessed as attributes."""

    takes_any: bool = False
    """Whether calling it may use keywords that neither it nor its base declares."""


def plain_classes(tree: ast.AST, imports: Imports) -> Iterator[tuple[str, OwnClass]]:
    """Return the classes of a file that have no base class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and not node.bases:
            yield node.name, _own_class(node, imports, "")


def own_classes(tree: ast.AST, imports: Imports) -> Iterator[tuple[str, OwnClass]]:
    """Return the classes of a file that derive from CrewAI's."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        bases = [target for base in node.bases if (target := imports.target(base)) is not None]
        is_project = any((imports.path(decorator) or "").endswith(".CrewBase") for decorator in node.decorator_list)
        if bases or is_project:
            yield node.name, _own_class(node, imports, bases[0] if bases else "")


def _own_class(node: ast.ClassDef, imports: Imports, base: str) -> OwnClass:
    result = OwnClass(base, takes_any=takes_any_keyword(node, imports.path))
    for item in ast.walk(node):
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
            _learn_method(result, item, imports)
        elif isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
            result.own.add(item.id)
        elif isinstance(item, ast.Attribute) and isinstance(item.ctx, ast.Store) and _is_self(item.value):
            result.own.add(item.attr)
        elif isinstance(item, ast.Assign) and isinstance(item.value, ast.Call):
            _learn_attribute_types(result, item.targets, imports.result_type(item.value))
    return result


def _learn_method(result: OwnClass, item: ast.FunctionDef | ast.AsyncFunctionDef, imports: Imports) -> None:
    result.own.add(item.name)
    if item.name in ("__init__", "__new__"):
        result.own.update(each.arg for each in (*item.args.posonlyargs, *item.args.args, *item.args.kwonlyargs))
    if any(_last_name(each) in _PROPERTIES for each in item.decorator_list):
        result.properties.add(item.name)
    roles = {(imports.path(each) or "").rpartition(".")[2] for each in item.decorator_list}
    target = imports.target(item.returns) or next(
        (_RESULT_BY_ROLE[each] for each in roles & set(_RESULT_BY_ROLE)), None
    )
    if target is not None:
        result.makes[item.name] = target if target != _CREW else _returned_crew(item, imports)


def _learn_attribute_types(result: OwnClass, targets: Sequence[ast.expr], kind: str | None) -> None:
    for each in targets:
        if kind is not None and isinstance(each, ast.Attribute) and _is_self(each.value):
            known_type = result.attributes.get(each.attr, kind)
            result.attributes[each.attr] = kind if known_type == kind or not _is_crew(kind) else _CREW + MAY_STREAM


def _is_crew(kind: str) -> bool:
    return kind.rstrip(MAY_STREAM + _STREAMS) == _CREW


def _returned_crew(function: ast.FunctionDef | ast.AsyncFunctionDef, imports: Imports) -> str:
    """Return the type of the crew that a function returns, from the crews that it creates."""
    calls = [item for item in ast.walk(function) if isinstance(item, ast.Call)]
    crews = {
        result_type
        for call in calls
        if (result_type := imports.result_type(call)) is not None and _is_crew(result_type)
    }
    return crews.pop() if len(crews) == 1 else _CREW + MAY_STREAM


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


class TypeScope:
    """The types of a file's expressions: "module:name" of crewgraph or the name of a project class, with `[]` for lists."""

    def __init__(
        self, imports: Imports, classes: Mapping[str, OwnClass], functions: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._imports = imports
        self.classes = classes
        self._functions = functions
        self._scopes: list[dict[str, str]] = [{}]
        self.bound: dict[tuple[int, int], str | None] = {}
        """Types assigned to names by position: line (from 1) and column in bytes."""
        self._selves: list[str] = []

    def enter(self, own: str | None = None) -> None:
        """Open the scope of a function or class."""
        self._scopes.append({})
        self._selves.append(own if own is not None else (self._selves[-1] if self._selves else ""))

    def leave(self) -> None:
        """Close the innermost scope."""
        self._scopes.pop()
        self._selves.pop()

    def know(self, target: ast.expr, kind: str | None) -> None:
        """Record the type of a name."""
        if isinstance(target, ast.Name):
            self.bound[target.lineno, target.col_offset] = kind
            if kind is None:
                self._scopes[-1].pop(target.id, None)
            else:
                self._scopes[-1][target.id] = kind

    def declared(self, annotation: ast.expr | None) -> str | None:
        """Return the type that an annotation declares."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = ast.parse(annotation.value, mode="eval").body
            except SyntaxError:
                return None
        if isinstance(annotation, ast.BinOp):  # `Agent | None`
            return self.declared(annotation.left) or self.declared(annotation.right)
        if isinstance(annotation, ast.Subscript) and isinstance(annotation.value, ast.Name):
            inner = self.declared(annotation.slice)
            outer = annotation.value.id
            return inner if outer == "Optional" else f"[]{inner}" if inner and outer in ("list", "List") else None
        kind = self._imports.target(annotation) or self._own(annotation)
        return _CREW + MAY_STREAM if kind == _CREW else kind

    def of(self, node: ast.expr | None) -> str | None:
        """Return the type of an expression, or None if it is unknown."""
        if isinstance(node, ast.Await):
            return self.of(node.value)
        if isinstance(node, ast.Name):
            if node.id == "self" and self._selves and self._selves[-1]:
                return self._selves[-1]
            return next((scope[node.id] for scope in reversed(self._scopes) if node.id in scope), None)
        if isinstance(node, ast.Call):
            return (
                self._imports.result_type(node)
                or self._own(node.func)
                or self._returned(node.func)
                or self._by_function(node.func)
            )
        if isinstance(node, ast.Attribute):
            return self._attribute_type(self.of(node.value), node.attr)
        if isinstance(node, ast.Subscript):
            return self.item(self.of(node.value))
        return None

    def item(self, kind: str | None) -> str | None:
        """Return the element type of a list."""
        return kind[2:] if kind is not None and kind.startswith("[]") else None

    def base(self, kind: str) -> str:
        """Return the crewgraph class that a type is or derives from; empty if there is none."""
        if kind in self.classes:
            return self.classes[kind].base
        return kind.rstrip(MAY_STREAM + _STREAMS) if ":" in kind else ""  # a class of which nothing is known

    def _own(self, node: ast.expr | None) -> str | None:
        return node.id if isinstance(node, ast.Name) and node.id in self.classes else None

    def _returned(self, func: ast.expr) -> str | None:
        kind = self.of(func.value) if isinstance(func, ast.Attribute) else None
        if kind is None or not isinstance(func, ast.Attribute):
            return None
        if kind in self.classes and func.attr in self.classes[kind].makes:
            return self.classes[kind].makes[func.attr]
        result_type = _METHOD_RESULTS.get((self.base(kind), func.attr))
        return result_type if result_type is None or self.base(kind) != _CREW else self._from_crew(kind, result_type)

    def _from_crew(self, kind: str, result_type: str) -> str:
        """Return the type of what a crew's method returns: outputs, or streams of a crew that streams."""
        if kind.endswith(_STREAMS) and not result_type.startswith("[]"):
            return f"{result_type}{_STREAMS}" if result_type == _CREW else CREW_STREAM
        may_stream = kind.endswith((MAY_STREAM, _STREAMS)) or kind in self.classes or self._imports.sets_stream
        return f"{result_type}{MAY_STREAM}" if may_stream else result_type

    def _by_function(self, func: ast.expr) -> str | None:
        if not isinstance(func, ast.Name) or any(func.id in scope for scope in self._scopes):
            return None
        return self._functions.get(func.id)

    def _attribute_type(self, kind: str | None, name: str) -> str | None:
        if kind is None:
            return None
        if kind in self.classes and name in self.classes[kind].attributes:
            return self.classes[kind].attributes[name]
        if kind.endswith(MAY_STREAM) and name == "result":
            return None
        return _ATTRIBUTE_TYPES.get((self.base(kind), name))
