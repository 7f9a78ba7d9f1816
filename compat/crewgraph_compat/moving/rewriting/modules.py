"""Rewrite module imports: `import crewai`, `import crewai.tools as t`, `from crewai import tools`."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import libcst

from crewgraph_compat.moving.names import (
    ResolvedName,
    import_location,
    is_module,
    module_location,
    resolve_moved_name,
    resolve_name,
)
from crewgraph_compat.moving.rewriting.imports import absent_note, is_crewai_path
from crewgraph_compat.moving.rewriting.tree import SourceTree, dotted_path, path_expression
from crewgraph_compat.surface.names import MODULES


@dataclass
class _Binding:
    """A local name bound to a module of crewai."""

    alias: libcst.ImportAlias
    statement: Any
    root: str
    """The local name."""

    module: str
    """The module that it is bound to."""

    imported: str
    """The imported module, which is a submodule in `import crewai.tools`."""

    uses: list[tuple[libcst.CSTNode, str]] = field(default_factory=list[tuple[libcst.CSTNode, str]])
    """The nodes that use it, each with the full path."""


@dataclass(frozen=True)
class _NeededImports:
    """The modules and names that an import has to provide."""

    modules: tuple[str, ...]
    called: bool = False
    """Whether the single module keeps the former local name."""

    stays: bool = False
    """Whether the original import is still used."""


_Plan = dict[libcst.ImportAlias, _NeededImports]


def split_module_imports(reading: SourceTree) -> None:
    """Split statements that import both modules and names of crewai, as these are rewritten differently."""
    for line in reading.of(libcst.SimpleStatementLine, libcst.SimpleStatementSuite):
        for statement in line.body:
            parts = _parts(statement)
            if parts is None:
                continue
            if isinstance(line, libcst.SimpleStatementLine) and len(line.body) == 1:
                reading.change(line, lambda updated, parts=parts: _separated(updated, parts))
            else:
                reading.change(statement, lambda _, parts=parts: libcst.FlattenSentinel(parts))


def _parts(statement: libcst.CSTNode) -> tuple[libcst.ImportFrom, libcst.ImportFrom] | None:
    if not isinstance(statement, libcst.ImportFrom) or isinstance(statement.names, libcst.ImportStar):
        return None
    module = None if statement.relative else dotted_path(statement.module)
    if module is None or not is_crewai_path(module):
        return None
    modules = [alias for alias in statement.names if is_module(f"{module}.{dotted_path(alias.name)}")]
    names = [alias for alias in statement.names if alias not in modules]
    if not modules or not names:
        return None
    names[-1] = names[-1].with_changes(comma=statement.names[-1].comma)
    separate = [item.with_changes(comma=libcst.MaybeSentinel.DEFAULT) for item in modules]
    first = statement.with_changes(names=names, semicolon=libcst.MaybeSentinel.DEFAULT)
    return first, libcst.ImportFrom(path_expression(module), separate, semicolon=statement.semicolon)


def _separated(line: libcst.SimpleStatementLine, parts: tuple[libcst.ImportFrom, libcst.ImportFrom]) -> Any:
    first, second = parts
    return libcst.FlattenSentinel([line.with_changes(body=[first]), libcst.SimpleStatementLine([second])])


def rewrite_paths(reading: SourceTree) -> None:
    """Rewrite every use of a crewai name through one of its modules to the crewgraph module."""
    bindings = list(_bindings(reading))
    if not bindings:
        return
    _find_uses(reading, bindings)
    groups: dict[tuple[str, str], list[_Binding]] = defaultdict(list)
    for binding in bindings:
        groups[binding.root, binding.module].append(binding)
    plans: dict[libcst.CSTNode, _Plan] = defaultdict(dict)
    for group in groups.values():
        plan = _renamed(group) or _spelled_out(reading, group)
        for binding in group:
            plans[binding.statement][binding.alias] = plan[binding.alias]
    for statement, plan in plans.items():
        if isinstance(statement, libcst.ImportFrom):
            _rewrite_from(reading, statement, plan)
        else:
            reading.change(statement, partial(_imports, statement, plan))


def _bindings(reading: SourceTree) -> Iterator[_Binding]:
    for statement in reading.of(libcst.Import, libcst.ImportFrom):
        if isinstance(statement.names, libcst.ImportStar) or getattr(statement, "relative", ()):
            continue
        above = dotted_path(statement.module) if isinstance(statement, libcst.ImportFrom) else None
        for alias in statement.names:
            path = f"{above}.{dotted_path(alias.name)}" if above is not None else str(dotted_path(alias.name))
            if not is_crewai_path(path) or (above is not None and not is_module(path)):
                continue
            called = None if alias.asname is None else dotted_path(alias.asname.name)
            if above is None and called is None:
                yield _Binding(alias, statement, "crewai", "crewai", path)
            else:
                yield _Binding(alias, statement, called or path.rpartition(".")[2], path, path)


def _find_uses(reading: SourceTree, bindings: list[_Binding]) -> None:
    by_statement = {(id(binding.statement), binding.root): binding for binding in bindings}
    roots = {binding.root for binding in bindings}
    inside = {id(node) for binding in bindings for node in _below(binding.statement)}
    for name in reading.of(libcst.Name):
        if name.value not in roots or id(name) in inside or not _is_loaded_by_name(reading, name):
            continue
        known = [by_statement.get((id(node), name.value)) for node in reading.assigned(name, name.value)]
        first = known[0] if known else None
        if first is not None and all(item is not None and item.module == first.module for item in known):
            first.uses.append(_chain(reading, name, first.module))


def _below(node: libcst.CSTNode) -> Iterator[libcst.CSTNode]:
    yield node
    for child in node.children:
        yield from _below(child)


def _is_loaded_by_name(reading: SourceTree, name: libcst.Name) -> bool:
    """Whether a name is a variable reference: not an attribute, keyword or parameter."""
    parent = reading.parent(name)
    if isinstance(parent, (libcst.Attribute, libcst.Arg)):
        return parent.value is name
    return not isinstance(parent, (libcst.Param, libcst.AssignTarget, libcst.FunctionDef, libcst.ClassDef))


def _chain(reading: SourceTree, name: libcst.Name, module: str) -> tuple[libcst.CSTNode, str]:
    """Return the chain of attributes on a name, as far as it resolves to something of crewai."""
    nodes: list[libcst.CSTNode] = [name]
    path = module
    while isinstance(parent := reading.parent(nodes[-1]), libcst.Attribute) and parent.value is nodes[-1]:
        nodes.append(parent)
        path = f"{path}.{parent.attr.value}"
    behind = 0 if (known := resolve_name(path)) is None else len(known.rest)
    return nodes[-1 - behind], path.rsplit(".", behind)[0] if behind else path


def _renamed(group: list[_Binding]) -> _Plan:
    """Return the import under the former local name if that is sufficient; otherwise nothing."""
    if any(binding.root == "crewai" and binding.alias.asname is None for binding in group):
        return {}  # then the local name itself changes
    homes: set[str | None] = set()
    for _, path in (use for binding in group for use in binding.uses):
        name, (module, _, last) = resolve_moved_name(path), path.rpartition(".")
        same = name is not None and module == group[0].module and import_location(name)[1] == last
        homes.add(import_location(name)[0] if name is not None and same else None)
    if len(homes or {1}) != 1 or None in homes:
        return {}
    only = homes.pop() if homes else module_location(group[0].module)
    return {} if only is None else {binding.alias: _NeededImports((only,), called=True) for binding in group}


def _spelled_out(reading: SourceTree, group: list[_Binding]) -> _Plan:
    """Return every use with the full path, and the imports required for that."""
    modules: dict[str, None] = {}
    stays = False
    for node, path in (use for binding in group for use in binding.uses):
        if (name := resolve_moved_name(path)) is not None:
            modules[import_location(name)[0]] = None
            _spell(reading, node, name)
        elif (module := module_location(path)) is not None:
            modules[module] = None
            reading.note(node, f"`{path}` is used as a module; `{module}` may not have all of its names.")
            reading.change(node, lambda _, module=module: path_expression(module))
        else:
            stays = True
            reading.note(node, absent_note(path), left=True)
    return {binding.alias: _needed_names(reading, binding, tuple(modules), stays=stays) for binding in group}


def _needed_names(reading: SourceTree, binding: _Binding, modules: tuple[str, ...], *, stays: bool) -> _NeededImports:
    if modules or stays:
        return _NeededImports(modules, stays=stays)
    if binding.imported not in MODULES:  # unused, but the module may not exist in crewgraph
        reading.note(binding.statement, absent_note(binding.imported), left=True)
        return _NeededImports((), stays=True)
    return _NeededImports((module_location(binding.imported) or "crewgraph",))


def _spell(reading: SourceTree, node: libcst.CSTNode, name: ResolvedName) -> None:
    spelled = ".".join([*import_location(name), *name.rest])
    reading.change(node, lambda updated: path_expression(spelled).with_changes(lpar=updated.lpar, rpar=updated.rpar))


def _imports(old: Any, plan: Mapping[libcst.ImportAlias, _NeededImports], updated: libcst.Import) -> libcst.Import:
    names: list[libcst.ImportAlias] = []
    known: set[str] = set()
    for was, alias in zip(old.names, updated.names, strict=True):
        target = plan.get(was)
        if target is None or target.stays:
            names.append(alias)
        for module in () if target is None else target.modules:
            if target is not None and target.called:
                names.append(alias.with_changes(name=path_expression(module)))
            elif module not in known:
                known.add(module)
                names.append(libcst.ImportAlias(path_expression(module)))
    return updated.with_changes(names=[name.with_changes(comma=libcst.MaybeSentinel.DEFAULT) for name in names])


def _rewrite_from(
    reading: SourceTree, statement: libcst.ImportFrom, plan: Mapping[libcst.ImportAlias, _NeededImports]
) -> None:
    """Replace `from crewai import tools` with imports of the modules."""
    built: list[Any] = []
    for alias, wanted in plan.items():
        called = str(dotted_path(alias.name if alias.asname is None else alias.asname.name))
        if wanted.stays:
            remaining = alias.with_changes(comma=libcst.MaybeSentinel.DEFAULT)
            built.append(libcst.ImportFrom(statement.module, [remaining]))
        for module in wanted.modules:
            built.append(_import_as(module, called) if wanted.called else _import(module))
    if built:
        built[-1] = built[-1].with_changes(semicolon=statement.semicolon)
        reading.change(statement, lambda _: libcst.FlattenSentinel(built))


def _import(module: str) -> libcst.Import:
    return libcst.Import([libcst.ImportAlias(path_expression(module))])


def _import_as(module: str, called: str) -> libcst.Import | libcst.ImportFrom:
    above, _, last = module.rpartition(".")
    as_name = None if last == called else libcst.AsName(libcst.Name(called))
    if not above:
        return libcst.Import([libcst.ImportAlias(path_expression(module), as_name)])
    return libcst.ImportFrom(path_expression(above), [libcst.ImportAlias(libcst.Name(last), as_name)])
