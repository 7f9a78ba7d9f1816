"""Find the parameters of tools that are annotated with the project's data classes."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from crewgraph_compat.moving.features import Feature, FeatureKind, Use
from crewgraph_compat.moving.reading.keywords import last_name
from crewgraph_compat.moving.reading.types import Imports, OwnClass

__all__ = ["DataClasses", "ToolParameter", "parameter_uses", "tool_parameters"]

_BASE_TOOL = "crewgraph.tools.base:BaseTool"
_TOOL = "crewgraph.tools.base:tool"
_MODELS = frozenset({"BaseModel", "RootModel"})
_DECORATORS = frozenset({"dataclass"})


@dataclass
class DataClasses:
    """The pydantic models and dataclasses of a project, by name."""

    names: set[str] = field(default_factory=set[str])
    _subclasses: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def take(self, tree: ast.AST) -> None:
        """Add the classes of a file."""
        models, decorators = _local_names(tree, _MODELS), _local_names(tree, _DECORATORS)
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef):
                continue
            bases = [last_name(base) for base in node.bases]
            if not models.isdisjoint(bases) or not decorators.isdisjoint(map(last_name, node.decorator_list)):
                self._know(node.name)
            for base in bases:
                self._subclasses.setdefault(base, set()).add(node.name)
                if base in self.names:
                    self._know(node.name)

    def _know(self, name: str) -> None:
        if name not in self.names:
            self.names.add(name)
            for subclass in self._subclasses.get(name, ()):
                self._know(subclass)


@dataclass(frozen=True)
class ToolParameter:
    """An annotated parameter of a tool without an `args_schema`."""

    node: ast.arg
    owner: str
    """The "module:name" of `tool` or `BaseTool` of crewgraph."""

    shown: str
    """The tool with the parameter: `order_total(item: Item)`."""

    annotated: frozenset[str]
    """The names of classes in its annotation."""


def tool_parameters(tree: ast.AST, imports: Imports, classes: Mapping[str, OwnClass]) -> list[ToolParameter]:
    """Return the annotated parameters of a file's tools.

    Args:
        tree: The parsed file.
        imports: The CrewAI names that it imports.
        classes: The project's classes that derive from CrewAI's.
    """
    tools = {name: "args_schema" in own.own for name, own in classes.items() if own.base == _BASE_TOOL}
    found: list[ToolParameter] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if any(_is_tool(each, imports) for each in node.decorator_list):
                found += _parameters(node, _TOOL, node.name)
        elif isinstance(node, ast.ClassDef):
            found += _of_class(node, tools)
    return found


def _of_class(node: ast.ClassDef, tools: dict[str, bool]) -> Iterator[ToolParameter]:
    """Return the parameters of a tool's class.

    Args:
        node: The class.
        tools: Whether each known class of a tool has a schema; the class is added if it derives from one of them.
    """
    bases = [name for base in node.bases if (name := last_name(base)) in tools]
    if bases:
        own = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        tools[node.name] = "args_schema" in own or any(tools[base] for base in bases)
    if tools.get(node.name, True):
        return
    methods = {each.name: each for each in node.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))}
    method = methods.get("_run") or methods.get("_arun")
    if method is not None:
        yield from _parameters(method, _BASE_TOOL, f"{node.name}.{method.name}")


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef, owner: str, name: str) -> Iterator[ToolParameter]:
    arguments = function.args
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if each.annotation is not None and _is_used_as_dict(function, each.arg):
            shown = f"{name}({each.arg}: {ast.unparse(each.annotation)})"
            yield ToolParameter(each, owner, shown, frozenset(_class_names(each.annotation)))


def _is_used_as_dict(function: ast.AST, parameter: str) -> bool:
    """Whether a function reads keys of a parameter, or of the items of one."""
    names = {parameter}
    for node in ast.walk(function):  # outermost first, so loops come before what they hold
        match node:
            case ast.For(target=ast.Name(one), iter=ast.Name(many)) if many in names:
                names.add(one)
            case ast.comprehension(target=ast.Name(one), iter=ast.Name(many)) if many in names:
                names.add(one)
            case _:
                pass
    return any(_read_as_dict(node) in names for node in ast.walk(function))


def _read_as_dict(node: ast.AST) -> str | None:
    """Return the name of what is read as a dict: `item["price"]`, `items[0]["price"]`, `item.get("price")`, `f(**item)`."""
    match node:
        case ast.Subscript(slice=ast.Constant(str())):
            return last_name(node.value)
        case ast.Attribute(value=ast.Name(name), attr="get" | "items" | "keys" | "pop" | "values"):
            return name
        case ast.keyword(arg=None, value=ast.Name(name)):
            return name
        case _:
            return None


def parameter_uses(parameters: Iterable[ToolParameter], file: str, data_classes: DataClasses) -> list[Use]:
    """Return the uses of data classes as the type of a tool's parameter.

    Args:
        parameters: The parameters of the file's tools.
        file: Its displayed path.
        data_classes: Those of the project.
    """
    return [
        Use(file, each.node.lineno, Feature(FeatureKind.parameter, each.shown, owner=each.owner))
        for each in parameters
        if not each.annotated.isdisjoint(data_classes.names)
    ]


def _is_tool(decorator: ast.expr, imports: Imports) -> bool:
    if isinstance(decorator, ast.Call):
        has_schema = any(keyword.arg == "args_schema" for keyword in decorator.keywords)
        return not has_schema and imports.target(decorator.func) == _TOOL
    return imports.target(decorator) == _TOOL


def _class_names(annotation: ast.expr) -> Iterator[str]:
    """Yield the names in an annotation: `Item` of `list[models.Item]`, but nothing of a `Literal`."""
    if isinstance(annotation, ast.Subscript):
        if last_name(annotation.value) != "Literal":
            yield from _class_names(annotation.slice)
    elif isinstance(annotation, (ast.Name, ast.Attribute)):
        yield last_name(annotation)
    elif isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            yield from _class_names(ast.parse(annotation.value, mode="eval").body)
        except SyntaxError:
            return
    elif isinstance(annotation, (ast.BinOp, ast.Tuple)):
        for part in ast.iter_child_nodes(annotation):
            if isinstance(part, ast.expr):
                yield from _class_names(part)


def _local_names(tree: ast.AST, names: frozenset[str]) -> set[str]:
    """Return names with those that a file gives them: `from pydantic import BaseModel as Model`."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    aliases = (alias for node in imports for alias in node.names)
    return {*names, *(alias.asname for alias in aliases if alias.name in names and alias.asname)}
