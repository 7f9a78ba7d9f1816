"""A user module: its top-level definitions, and how the program imports or copies them."""

import ast
import inspect
import linecache
import symtable
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard, cast

from crewgraph_compat.eject.refusals import Refusals
from crewgraph_compat.eject.user_code.expressions import SourceEdits
from crewgraph_compat.eject.writing.sheet import ProgramText

FRAMEWORKS = frozenset({"crewgraph", "crewai", "crewai_tools", "crewgraph_compat"})
"""The packages that an ejected program does not depend on."""


class UserModule:
    """The source of a module.

    Args:
        file: the path of the file.
        values: its current global names.
        name: the name it is imported by.
    """

    def __init__(self, file: str, values: Mapping[str, Any], name: str) -> None:
        self.file, self.values, self.name = file, values, name

    @cached_property
    def text(self) -> str:
        """The source; empty if there is none."""
        return "".join(linecache.getlines(self.file))

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text)

    @cached_property
    def definitions(self) -> dict[str, ast.stmt]:
        """The top-level statements by the name they define; the last definition wins."""
        return {name: item for item in _top(self.tree.body) for name in _bound(item)}

    def segment(self, node: ast.AST) -> str:
        """Return the text of a statement with its decorators."""
        first = min([cast("Any", node).lineno, *(item.lineno for item in getattr(node, "decorator_list", []))])
        lines = self.text.splitlines()[first - 1 : cast("Any", node).end_lineno]
        return "\n".join(lines)

    def definition(self, name: str) -> str:
        """Return the text of a top-level definition."""
        return self.segment(self.definitions[name])

    def name_of(self, value: object) -> str | None:
        """Return the global name of an object."""
        return next((name for name, item in self.values.items() if item is value and name in self.definitions), None)

    @property
    def is_free(self) -> bool:
        """Return whether the module can be imported without crewgraph and CrewAI."""
        return _is_free(self.name, set())

    @classmethod
    def of(cls, value: Any) -> "UserModule | None":
        """Return the module that defines a function or class, or None if its source is unavailable."""
        plain = inspect.unwrap(value) if callable(value) and not isinstance(value, type) else value
        values: Any = getattr(plain, "__globals__", None)
        name = str(getattr(value, "__module__", None) or "")
        module = sys.modules.get(name)
        if values is None and module is not None:
            values = vars(module)
        if values is None:
            return None
        file: Any = getattr(getattr(plain, "__code__", None), "co_filename", None) or values.get("__file__")
        return cls(file, values, name) if isinstance(file, str) and linecache.getlines(file) else None

    @classmethod
    def named(cls, name: str) -> "UserModule | None":
        """Return an imported module."""
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        return cls(file, vars(module), name) if isinstance(module, ModuleType) and isinstance(file, str) else None


def _top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Return the statements of a top level, including those within `try` and `if`."""
    for statement in body:
        if isinstance(statement, (ast.Try, ast.If)):
            yield from (inner for inner in _top(statement.body) if isinstance(inner, (ast.Import, ast.ImportFrom)))
        else:
            yield statement


def _bound(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names):
            yield from (item.asname or item.name.partition(".")[0] for item in names)
        case ast.ImportFrom(names=names):
            yield from (item.asname or item.name for item in names)
        case ast.Assign(targets=targets):
            yield from (node.id for target in targets for node in ast.walk(target) if _is_set(node))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case _:
            return


def _is_set(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def global_names(source: str) -> set[str]:
    """Return the global names that a piece of source uses."""
    table = symtable.symtable(source, "<lifted>", "exec")
    results = {get_symbol.get_name() for get_symbol in table.get_symbols() if get_symbol.is_referenced()}
    below = [*table.get_children()]
    while below:
        inner = below.pop()
        results |= {get_symbol.get_name() for get_symbol in inner.get_symbols() if get_symbol.is_global()}
        below += inner.get_children()
    return results | _quoted(ast.parse(source))


def _quoted(tree: ast.AST) -> set[str]:
    """Return the names in quoted annotations."""
    noted = [
        node.annotation for node in ast.walk(tree) if isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation
    ]
    noted += [
        node.returns
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns
    ]
    texts = [node.value for note in noted for node in ast.walk(note) if isinstance(node, ast.Constant)]
    names: set[str] = set()
    for text in texts:
        if isinstance(text, str):
            try:
                names |= {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}
            except SyntaxError:  # a text in a Literal
                continue
    return names


def imported_names(statement: ast.Import | ast.ImportFrom, package: str) -> list[tuple[str, str, str | None]]:
    """Return, for each name bound by an import, the name, the module, and the attribute (None: the module itself)."""
    if isinstance(statement, ast.Import):
        return [(name.asname or name.name.partition(".")[0], name.name, None) for name in statement.names]
    above = package.split(".")[: len(package.split(".")) - statement.level + 1] if statement.level else []
    module = ".".join([*filter(None, above), *filter(None, [statement.module])])
    return [(name.asname or name.name, module, name.name) for name in statement.names]


def is_installed_package(name: str) -> bool:
    """Return whether a module belongs to the standard library or an installed package."""
    root = name.partition(".")[0]
    if root in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(root), "__file__", None)
    return file is None or "site-packages" in Path(file).parts or "dist-packages" in Path(file).parts


def _is_free(name: str, seen: set[str]) -> bool:
    root = name.partition(".")[0]
    if root in FRAMEWORKS or name == "__main__":
        return False
    if name in seen or is_installed_package(name):
        return True
    seen.add(name)
    module = UserModule.named(name)
    if module is None:
        return False
    package = str(module.values.get("__package__") or "")
    imported = [
        source
        for node in ast.walk(module.tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for _, source, _ in imported_names(node, package)
    ]
    return all(_is_free(item, seen) for item in imported)


_RANK = 3


class UserCode:
    """Add the user's own code to a program.

    Args:
        sheet: the program.
        refusals: collects the parts that have no translation.
        target: the module of the crew or flow, which is never imported.
        stand_ins: by CrewAI name, a function that writes the program's replacement and returns its name.
    """

    def __init__(
        self, sheet: ProgramText, refusals: Refusals, target: str, stand_ins: Mapping[str, Callable[[], str | None]]
    ) -> None:
        self.sheet, self.refusals, self.target, self._stand_ins = sheet, refusals, target, stand_ins
        self._done: dict[tuple[str, str], str] = {}
        self._owners: dict[str, tuple[str, str]] = {}
        self._copied: set[str] = set()
        self.conflicts: set[str] = set()
        """Names of user code that the program uses otherwise."""

        self.rewrite: Callable[[UserModule, str], str] = lambda _, text: text
        """Replaces the crewgraph parts of a source."""

        self.search_path: frozenset[Path] | None = None
        """The directories that the program can import from; None for any."""

        self.sources: list[str] = []
        """The texts that were copied."""

    def is_imported(self, module: UserModule) -> bool:
        """Return whether the program imports a user module instead of copying from it."""
        return module.name != self.target and module.is_free and self._is_reachable(module)

    def _is_reachable(self, module: UserModule) -> bool:
        """Return whether a module can be imported from the program's folder, ignoring what commands add to `sys.path`."""
        root = sys.modules.get(module.name.partition(".")[0])
        file = getattr(root, "__file__", None)
        if self.search_path is None or file is None:
            return True
        place = Path(file).resolve()
        return (place.parent.parent if place.stem == "__init__" else place.parent) in self.search_path

    def value(self, value: Any, where: str) -> str | None:
        """Return the program's name for a user function or class, or None after recording that it has none.

        Args:
            value: the function or class.
            where: its use, for messages.
        """
        name = getattr(value, "__name__", None)
        module = UserModule.of(value)
        if not isinstance(name, str) or module is None:
            self.refusals.add(where, f"the source of {value!r:.80} is not available")
            return None
        if name == "<lambda>":
            return self._lambda(module, value, where)
        if inspect.ismethod(plain := inspect.unwrap(value)):
            owner = self._owner(plain.__self__, where)
            return self._method(module, plain, where) if owner is None else f"{owner}.{name}"
        if is_installed_package(module.name) and module.name.partition(".")[0] not in FRAMEWORKS:
            self.sheet.use(module.name, name)
            return name
        known = name if module.values.get(name) is value else module.name_of(value)
        if known is None or known not in module.definitions:
            why = f"`{name}` is not a top-level name of `{module.name}`; move it there so that it can be copied"
            self.refusals.add(where, why)
            return None
        return self.name(module, known, where)

    def _lambda(self, module: UserModule, value: Any, where: str) -> str | None:
        """Return a function for a lambda, if the lambda is the only one in its line and has no closure."""
        code = value.__code__
        results = [
            node
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno
        ]
        same = {ast.unparse(item) for item in results}
        if len(same) != 1 or code.co_freevars:
            self.refusals.add(
                where, f"it is a lambda in line {code.co_firstlineno} of `{module.name}`; turn it into a function"
            )
            return None
        key = (module.file, ast.unparse(results[0]))
        if key not in self._done:
            self._done[key] = self.sheet.names.new(where.partition(" of ")[0].removeprefix("the "), "_function")
            text = f"def {self._done[key]}({ast.unparse(results[0].args)}):\n    return {ast.unparse(results[0].body)}"
            self.source(module, text, where)
        return self._done[key]

    def _owner(self, value: object, where: str) -> str | None:
        """Return the name of an object at the top of a module, whose methods stay methods; None for other objects."""
        module = UserModule.of(type(value))
        if module is None or module.name.partition(".")[0] in FRAMEWORKS or isinstance(value, type):
            return None
        for owner in (module, UserModule.named(self.target)):
            if owner is not None and (name := owner.name_of(value)) is not None:
                return self.name(owner, name, where)
        return None

    def _method(self, module: UserModule, value: Any, where: str) -> str | None:
        """Return a function for a method that does not use its object."""
        key = (module.file, value.__qualname__)
        if key in self._done:
            return self._done[key]
        text = textwrap.dedent(inspect.getsource(value))
        tree: Any = ast.parse(text).body[0]
        text = "\n".join(text.splitlines()[tree.lineno - 1 :]) + "\n"
        tree = ast.parse(text).body[0]
        own = tree.args.args[0].arg
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id == own:
                why = f"`{value.__qualname__}` uses `{own}` in its line {node.lineno}; turn it into a function"
                self.refusals.add(where, why)
                return None
        edits = SourceEdits(text, tree)
        edits.drop_first_parameter(tree)
        self._done[key] = name = self.sheet.names.new(value.__name__, "_function")
        self.source(module, edits.done().replace(f"def {value.__name__}(", f"def {name}(", 1), where)
        return name

    def name(self, module: UserModule, name: str, where: str) -> str | None:
        """Add a global name of a module to the program with everything it needs."""
        key = (module.file, name)
        if key in self._done:
            return self._done[key]
        statement = module.definitions[name]
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            return self._imported(module, statement, name, where)
        if self.is_imported(module) and self.sheet.imports(module.name, name):
            return name
        if not self._claim(name, key, where):
            return None
        self._done[key] = name
        if self.is_imported(module):
            self.sheet.use(module.name, name)
            return name
        if name in self._copied:  # the same text, from another file
            return name
        self._copied.add(name)
        self.source(module, textwrap.dedent(module.segment(statement)), where)
        return name

    def register(self, module: UserModule, name: str, called: str) -> None:
        """Record the name in the program of a module's global, for the code that uses it."""
        self._done[module.file, name] = called

    def source(
        self, module: UserModule, text: str, where: str, rank: int = _RANK, *, defined: frozenset[str] = frozenset()
    ) -> None:
        """Add source of a module to the program, after everything it needs.

        Args:
            module: the module.
            text: the source.
            where: its use, for messages.
            rank: its position in the program.
            defined: names that the program already has.
        """
        text = self.rewrite(module, text)
        self.needs(module, text, where, defined)
        self.sources.append(text)
        self.sheet.add(text, rank)

    def needs(self, module: UserModule, text: str, where: str, defined: frozenset[str] = frozenset()) -> None:
        """Add the names that a piece of a module's source uses, except those already defined."""
        for used in sorted((global_names(text) & set(module.definitions)) - defined):
            self.name(module, used, where)

    def _imported(self, module: UserModule, statement: Any, name: str, where: str) -> str | None:
        package = str(module.values.get("__package__") or "")
        bound, source, inner = next(
            imported_name for imported_name in imported_names(statement, package) if imported_name[0] == name
        )
        root = source.partition(".")[0]
        if root in FRAMEWORKS:
            return self._stood_in(source, inner or source, bound, where)
        if source in ("__future__",):
            return name
        other = UserModule.named(source)
        if other is None or is_installed_package(source) or self.is_imported(other):
            return self._from(source, inner, bound)
        if inner is None or inner not in other.definitions:
            self.refusals.add(where, f"`{source}` is used as a module, but depends on the framework that is removed")
            return None
        result = self.name(other, inner, where)
        if result is not None and result != bound:
            self.refusals.add(where, f"`{inner}` of `{source}` is imported under another name, `{bound}`")
        return result

    def _from(self, source: str, inner: str | None, bound: str) -> str:
        if inner is None:
            self.sheet.module(source, bound if bound != source.partition(".")[0] else None)
        else:
            self.sheet.use(source, inner if inner == bound else f"{inner} as {bound}")
        return bound

    def _stood_in(self, source: str, inner: str, bound: str, where: str) -> str | None:
        write = self._stand_ins.get(inner)
        result = write() if write is not None else None
        if result is None:
            self.refusals.add(
                where,
                f"it uses `{inner}` of `{source}`, which is removed; rewrite that part without it",
            )
        elif result != bound:
            self.refusals.add(where, f"it imports `{inner}` of `{source}` as `{bound}`; keep the original name")
        return result

    def _claim(self, name: str, key: tuple[str, str], where: str) -> bool:
        """Return whether a name is available for a user definition, and reserve it.

        A name that the program was going to use itself is a conflict: the program is written again without it.
        """
        owner = self._owners.setdefault(name, key)
        if owner == key and self.sheet.names.is_taken(name):
            self.conflicts.add(name)
        elif owner != key and not self._is_same(owner, key):
            self.refusals.add(where, f"the name `{name}` is used twice; rename one of the two")
            return False
        self.sheet.names.take(name)
        return True

    def _is_same(self, first: tuple[str, str], other: tuple[str, str]) -> bool:
        """Return whether two files define the same thing with the same text."""
        texts = [UserModule(file, {}, "").definition(name) for file, name in (first, other)]
        return texts[0] == texts[1]
