"""Find the CrewAI features that a Python file uses."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from crewgraph_compat.moving.differences import differences_of
from crewgraph_compat.moving.features import Feature, FeatureKind, Use, accepted_keywords, known_attributes
from crewgraph_compat.moving.names import OUTPUTS, TAKING_TEXTS, resolve_name
from crewgraph_compat.moving.reading.keywords import last_name
from crewgraph_compat.moving.reading.types import (
    CREW_OUTPUT,
    CREW_STREAM,
    INSTRUMENTOR,
    MAY_STREAM,
    Imports,
    OwnClass,
    TypeScope,
)
from crewgraph_compat.surface.names import MODULES, names_of

_ROOTS = ("crewai", "crewai_tools")
_DECLARED = frozenset({"name", "description", "args_schema", "model_config", "model", "state"})
"""Methods that subclasses define without overriding a behaviour."""


def imports_of(tree: ast.AST) -> Imports:
    """Return the CrewAI names that a file imports, anywhere in it."""
    imports = Imports()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] in _ROOTS:
                    called = alias.asname or alias.name.partition(".")[0]
                    imports.paths[called] = alias.name if alias.asname else called
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] in _ROOTS:
            for alias in node.names:
                if alias.name == "*":
                    imports.paths.update({name: f"{node.module}.{name}" for name in names_of(node.module or "")})
                else:
                    imports.paths[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Attribute) and node.attr == "stream" and isinstance(node.ctx, ast.Store):
            imports.sets_stream = True
    return imports


def python_uses(
    tree: ast.AST,
    file: str,
    imports: Imports,
    classes: Mapping[str, OwnClass],
    functions: Mapping[str, str] = MappingProxyType({}),
) -> list[Use]:
    """Return the features that a file uses, in source order.

    Args:
        tree: The parsed file.
        file: Its displayed path.
        imports: The CrewAI names that it imports.
        classes: The project's classes that derive from CrewAI's.
        functions: Return types of its functions.
    """
    result = located(tree, imports, classes, functions)
    return sorted({Use(file, getattr(node, "lineno", 1), feature) for node, feature in result})


def located(
    tree: ast.AST,
    imports: Imports,
    classes: Mapping[str, OwnClass],
    functions: Mapping[str, str] = MappingProxyType({}),
) -> list[tuple[ast.AST, Feature]]:
    """Return the features that a file uses, each with its node."""
    finding = UseVisitor(imports, TypeScope(imports, classes, functions))
    finding.visit(tree)
    return finding.found


class UseVisitor(ast.NodeVisitor):
    """Walks a file while tracking the types of names."""

    def __init__(self, imports: Imports, types: TypeScope) -> None:
        self._imports = imports
        self.types = types
        self.found: list[tuple[ast.AST, Feature]] = []
        self._caught: set[str] = set()
        self._asked: set[tuple[str, str]] = set()

    def visit_Module(self, node: ast.Module) -> None:
        self._asked = set(_asked(node))
        self.generic_visit(node)

    def visit_Try(self, node: ast.Try) -> None:
        before = self._caught
        self._caught = before | {last_name(kind) for each in node.handlers for kind in _caught(each)}
        for statement in node.body:
            self.visit(statement)
        self._caught = before
        for part in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(part)

    def _awaited(self, node: ast.expr, value: ast.expr) -> None:
        func = value.func if isinstance(value, ast.Call) else None
        if isinstance(func, ast.Attribute) and func.attr == "kickoff" and (owner := self._owner(func)):
            shown = f"await {_last(owner)}.kickoff"
            self._use(node, Feature(FeatureKind.awaited, shown, owner=owner, word="kickoff"))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.partition(".")[0] in _ROOTS:
                self._use(node, Feature(FeatureKind.imported, alias.name, path=alias.name))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module == INSTRUMENTOR:
            self._use(node, Feature(FeatureKind.imported, INSTRUMENTOR, path=INSTRUMENTOR))
        if node.level or (node.module or "").partition(".")[0] not in _ROOTS:
            return
        for alias in node.names:
            path = str(node.module) if alias.name == "*" else f"{node.module}.{alias.name}"
            self._use(node, Feature(FeatureKind.imported, path, path=path))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for base in node.bases:
            target = self._imports.target(base)
            if target is not None:
                self._use(base, Feature(FeatureKind.base, f"class({_last(target)})", owner=target))
                for method in _methods(node):
                    shown = f"override {_last(target)}.{method.name}"
                    feature = Feature(FeatureKind.override, shown, owner=target, word=method.name)
                    if method.name in known_attributes(target) or differences_of(feature):
                        self._use(method, feature)
        self._inside(node, node.name if node.name in self.types.classes else "")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            target = None if isinstance(decorator, ast.Call) else self._imports.target(decorator)
            if target is not None:
                self._use(decorator, Feature(FeatureKind.bare, f"@{_last(target)}", owner=target))
        self._inside(node, None)

    def _inside(self, node: ast.AST, own: str | None) -> None:
        self.types.enter(own)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for item in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                if item.arg != "self":
                    self.types.know(ast.copy_location(ast.Name(item.arg), item), self.types.declared(item.annotation))
        self.generic_visit(node)
        self.types.leave()

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target in node.targets:
            self.types.know(target, self.types.of(node.value))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.generic_visit(node)
        self.types.know(node.target, self.types.declared(node.annotation) or self.types.of(node.value))

    def visit_For(self, node: ast.For) -> None:
        self.types.know(node.target, self.types.item(self.types.of(node.iter)))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if node.args and last_name(node.func) == "run" and ast.unparse(node.func) in ("asyncio.run", "run"):
            self._awaited(node, node.args[0])
        self._texts(node)
        target = self._imports.target(node.func)
        own = node.func.id if isinstance(node.func, ast.Name) and node.func.id in self.types.classes else None
        if target is not None:
            self._keywords(node, target)
        elif own is not None and self.types.base(own):
            self._keywords(node, self.types.base(own), own)
        elif isinstance(node.func, ast.Attribute):
            self._arguments(node, node.func)
        self.generic_visit(node)

    def _texts(self, node: ast.Call) -> None:
        """Record outputs passed to functions that take only strings."""
        function, place = ast.unparse(node.func), 0
        if isinstance(node.func, ast.Attribute) and node.func.attr == "write_text":
            function = "write_text"
        elif function != "json.loads":
            place = TAKING_TEXTS.get(function, len(node.args))
        kind = self.types.of(node.args[place]) if place < len(node.args) else None
        owner = "" if kind is None or kind.startswith("[]") else self.types.base(kind)
        if _last(owner) in OUTPUTS:
            shown = f"{function}({_last(owner)})"
            self._use(node, Feature(FeatureKind.argument, shown, owner=owner, word=function))

    def _keywords(self, node: ast.Call, target: str, own: str | None = None) -> None:
        for keyword in node.keywords:
            if keyword.arg is None or own is not None and self._is_own(keyword.arg, target, own):
                continue
            value = repr(keyword.value.value) if isinstance(keyword.value, ast.Constant) else ""
            shown = f"{_last(target)}({keyword.arg}=)"
            self._use(keyword, Feature(FeatureKind.keyword, shown, owner=target, word=keyword.arg, value=value))

    def _is_own(self, keyword: str, target: str, own: str) -> bool:
        """Whether a keyword is declared by a class of the project, or may be used by it alone."""
        built = self.types.classes[own]
        return keyword in built.own or built.takes_any and keyword not in accepted_keywords(target)

    def _arguments(self, node: ast.Call, func: ast.Attribute) -> None:
        owner = self._owner(func)
        for item in node.keywords if owner else ():
            if item.arg is not None:
                shown = f"{_last(owner)}.{func.attr}({item.arg}=)"
                self._use(item, Feature(FeatureKind.argument, shown, owner=owner, word=item.arg, of_method=func.attr))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = self._imports.path(node)
        if path is not None:
            self._path(node, path)
            return
        if owner := self._owner(node):
            value = (
                MAY_STREAM if node.attr == "result" and (self.types.of(node.value) or "").endswith(MAY_STREAM) else ""
            )
            shown = f"{_last(owner)}.{node.attr}"
            self._use(node, Feature(FeatureKind.attribute, shown, owner=owner, word=node.attr, value=value))
        self.generic_visit(node)

    def _path(self, node: ast.Attribute, path: str) -> None:
        """Record attributes of imports: names of modules, or attributes of classes."""
        name = resolve_name(path)
        if name is None or not name.rest:
            if path not in MODULES:
                self._use(node, Feature(FeatureKind.imported, path, path=path))
            return
        if self._imports.paths.get(path.partition(".")[0]) == "crewai":
            full = path.rsplit(".", len(name.rest))[0]
            self._use(node, Feature(FeatureKind.imported, full, path=full))
        if not name.module.startswith("crewgraph"):
            return
        shown = f"{name.name}.{name.rest[0]}"
        self._use(node, Feature(FeatureKind.attribute, shown, owner=name.target, word=name.rest[0]))

    def _owner(self, node: ast.Attribute) -> str:
        """Return the crewgraph class that has the attribute; empty if it is the project's own or unknown."""
        kind = self.types.of(node.value)
        if kind is None or kind.startswith("[]"):
            return ""
        if kind in self.types.classes and node.attr in self.types.classes[kind].own:
            return ""
        owner = self.types.base(kind)
        if owner == CREW_OUTPUT and kind.endswith(MAY_STREAM) and node.attr != "result":  # a former name of `raw`, too
            only_of_streams = known_attributes(CREW_STREAM) - known_attributes(owner)
            return CREW_STREAM if node.attr in only_of_streams else owner
        return owner

    def _use(self, node: ast.AST, feature: Feature) -> None:
        errors = _ERRORS.get(feature.sort, ())
        if not self._caught.isdisjoint(errors) or self._asked and _written(node) in self._asked:
            feature = replace(feature, is_guarded=True)
        self.found.append((node, feature))


_ANY = ("Exception", "BaseException", "")
_ERRORS = {
    FeatureKind.imported: ("ImportError", "ModuleNotFoundError", *_ANY),
    FeatureKind.attribute: ("AttributeError", *_ANY),
    FeatureKind.argument: ("TypeError", *_ANY),
}
"""What a program catches that goes on without a feature; an empty name catches everything."""


def _caught(handler: ast.ExceptHandler) -> list[ast.expr]:
    """Return the classes that a handler names; an empty name if it names none."""
    kind = handler.type or ast.Name("")
    return kind.elts if isinstance(kind, ast.Tuple) else [kind]


def _asked(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the attributes that a file asks for with `hasattr` or `getattr`, each with its object as it is written."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name("hasattr" | "getattr"), args=[asked, ast.Constant(str(name)), *_]):
                yield ast.unparse(asked), name
            case _:
                pass


def _written(node: ast.AST) -> tuple[str, str]:
    return (ast.unparse(node.value), node.attr) if isinstance(node, ast.Attribute) else ("", "")


def _methods(node: ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return the methods of a class that its base may have."""
    for statement in node.body:
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) or statement.name.startswith("__"):
            continue
        if statement.name not in _DECLARED:
            yield statement


def _last(target: str) -> str:
    return target.rpartition(":")[2]
