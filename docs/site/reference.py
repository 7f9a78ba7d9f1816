"""A griffe extension for the reference: fields with the types and defaults that a reader knows.

The code's own names for types (`VerboseField`, `KeepHistory`) become the types that they stand for, `Field(default=...)` and a
constructor's parameters the default, and declarations for type checkers are left out: the inherited method has the text.
"""

import ast
import re
from pathlib import Path
from typing import Any

import griffe

_LONGEST_TYPE = 100  # characters; a longer one is better known by its name
_TROUBLESHOOTING = Path(__file__).parent.parent / "troubleshooting.md"
_EMPTY = {"list": "[]", "dict": "{}", "set": "set()"}


class Reference(griffe.Extension):
    """Shows attributes as readers write them."""

    def on_class_members(self, *, node: ast.AST | griffe.ObjectNode, cls: griffe.Class, **_: Any) -> None:
        """Remove what a class body declares for type checkers only."""
        for statement in getattr(node, "body", ()):
            if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
                for name in _declared(statement):
                    cls.members.pop(name, None)

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Rewrite the attributes of all classes of a package."""
        if pkg.path == "crewgraph":
            _rewrite(pkg, pkg)
            _link_errors(pkg["errors"])


def _link_errors(module: griffe.Module) -> None:
    """Let each error lead to what to do about it, whose heading has its name."""
    entries = re.findall(r"^### (\w+)$", _TROUBLESHOOTING.read_text("utf-8"), re.MULTILINE)
    for name, member in module.members.items():
        if isinstance(member, griffe.Class) and member.docstring and name in entries:
            member.docstring.value += f" [What to do](../troubleshooting.md#{name.lower()})"


def _declared(statement: ast.If) -> list[str]:
    names = [
        getattr(item, "name", None) or getattr(getattr(item, "target", None), "id", None) for item in statement.body
    ]
    return [name for name in names if name is not None]


def _rewrite(scope: griffe.Module | griffe.Class, package: griffe.Module) -> None:
    for member in scope.members.values():
        if isinstance(member, (griffe.Module, griffe.Class)):
            _rewrite(member, package)
        elif isinstance(member, griffe.Function):
            member.returns = _plain_type(member.returns, package)
            for parameter in member.parameters:
                parameter.annotation = _plain_type(parameter.annotation, package)
        elif isinstance(member, griffe.Attribute) and isinstance(scope, griffe.Class):
            member.annotation = _plain_type(member.annotation, package)
            if "instance-attribute" in member.labels and not _is_class_default(member):
                _show_parameter(member, scope)
            elif isinstance(member.value, griffe.ExprCall):
                _show_call(member, member.value, package)


def _is_class_default(attribute: griffe.Attribute) -> bool:
    return "class-attribute" in attribute.labels and not isinstance(attribute.value, griffe.ExprName)


def _show_parameter(attribute: griffe.Attribute, owner: griffe.Class) -> None:
    """Give an attribute that a constructor sets the default of the parameter with its name."""
    constructor = owner.members.get("__init__")
    parameters = constructor.parameters if isinstance(constructor, griffe.Function) else ()
    attribute.value = next((item.default for item in parameters if item.name == attribute.name), None)


def _show_call(attribute: griffe.Attribute, value: griffe.ExprCall, package: griffe.Module) -> None:
    """Give an attribute that is made by a function the default that the call names."""
    arguments = {item.name: item.value for item in value.arguments if isinstance(item, griffe.ExprKeyword)}
    positional = [item for item in value.arguments if not isinstance(item, griffe.ExprKeyword)]
    if value.canonical_path in ("pydantic.Field", "dataclasses.field"):
        attribute.value = _default(arguments, positional, package)
    elif value.canonical_path.endswith("._setting"):
        _, about, *default = positional
        attribute.value = default[0] if default else "None"
        attribute.docstring = griffe.Docstring(ast.literal_eval(str(about)), parent=attribute)


def _plain_type(annotation: Any, package: griffe.Module) -> Any:
    """Replace the names of types in an annotation by the types that they stand for, and `Annotated` by what it annotates."""
    if isinstance(annotation, griffe.ExprName):
        alias = _attribute(annotation.canonical_path, package)
        meant = None if alias is None else alias.value
        if not isinstance(meant, (griffe.ExprSubscript, griffe.ExprBinOp)):
            return annotation
        plain = _plain_type(meant, package)
        return plain if len(str(plain)) <= _LONGEST_TYPE else annotation
    if isinstance(annotation, griffe.ExprBinOp):
        left, right = _plain_type(annotation.left, package), _plain_type(annotation.right, package)
        return griffe.ExprBinOp(left, annotation.operator, right)
    if isinstance(annotation, griffe.ExprSubscript):
        if annotation.canonical_path == "typing.Annotated" and isinstance(annotation.slice, griffe.ExprTuple):
            return _plain_type(annotation.slice.elements[0], package)
        return griffe.ExprSubscript(annotation.left, _plain_type(annotation.slice, package))
    return annotation


def _default(arguments: dict[str, Any], positional: list[Any], package: griffe.Module) -> Any:
    """Return the default of a pydantic field; None if it is required."""
    factory = arguments.get("default_factory")
    if factory is None:
        default = arguments.get("default", positional[0] if positional else None)
        constant = _attribute(default.canonical_path, package) if isinstance(default, griffe.ExprName) else None
        return default if constant is None or isinstance(constant.value, griffe.ExprCall) else constant.value
    if isinstance(factory, griffe.ExprLambda):
        return factory.body
    text = str(_plain_type(factory, package))
    return _EMPTY.get(text.partition("[")[0], f"{text}()")


def _attribute(path: str, package: griffe.Module) -> griffe.Attribute | None:
    """Return an attribute of a module of the package by its full name."""
    member: Any = package
    for part in path.split(".")[1:] if path.startswith("crewgraph.") else ["?"]:
        member = None if member.is_alias or member.is_attribute else member.members.get(part)
        if member is None:
            return None
    return member if isinstance(member, griffe.Attribute) else None
