"""Taking over what the user wrote: imported where that does without crewgraph, else with its source."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from crewgraph.eject.edits import Edits
from crewgraph.eject.module import FRAMEWORKS, UserModule, globals_in, imported_by, is_installed
from crewgraph.eject.refusals import Refusals
from crewgraph.eject.sheet import Sheet

__all__ = ["Lifter"]

_RANK = 3


class Lifter:
    """Brings the user's own code into a program.

    Args:
        sheet: the program.
        refusals: what has no translation.
        target: the module of the crew or flow, which is never imported.
        stand_ins: by names of CrewAI's, what writes something of the program's own for one, and gives its name.
    """

    def __init__(
        self, sheet: Sheet, refusals: Refusals, target: str, stand_ins: Mapping[str, Callable[[], str | None]]
    ) -> None:
        self.sheet, self.refusals, self.target, self._stand_ins = sheet, refusals, target, stand_ins
        self._done: dict[tuple[str, str], str] = {}
        self._owners: dict[str, tuple[str, str]] = {}
        self.rewrite: Callable[[UserModule, str], str] = lambda _, text: text
        """Puts something else in the place of what is of crewgraph in a source."""

        self.sources: list[str] = []
        """The texts that were taken over."""

    def value(self, value: Any, where: str) -> str | None:
        """The name of a function or class of the user's in the program; None where it has none, which is noted.

        Args:
            value: the function or class.
            where: what it is used for, for messages.
        """
        name = getattr(value, "__name__", None)
        module = UserModule.of(value)
        if not isinstance(name, str) or module is None:
            self.refusals.add(where, f"the source of {value!r:.80} is not to be had")
            return None
        if name == "<lambda>":
            return self._lambda(module, value, where)
        if inspect.ismethod(plain := inspect.unwrap(value)):
            return self._method(module, plain, where)
        if is_installed(module.name) and module.name.partition(".")[0] not in FRAMEWORKS:
            self.sheet.use(module.name, name)
            return name
        known = name if module.values.get(name) is value else module.name_of(value)
        if known is None or known not in module.definitions:
            why = f"`{name}` is no name at the top of `{module.name}`; move it there, so that it can be taken over"
            self.refusals.add(where, why)
            return None
        return self.name(module, known, where)

    def _lambda(self, module: UserModule, value: Any, where: str) -> str | None:
        """A function for a lambda, if it is the only one of its kind in its line and needs nothing around it."""
        code = value.__code__
        found = [
            one for one in ast.walk(module.tree) if isinstance(one, ast.Lambda) and one.lineno == code.co_firstlineno
        ]
        same = {ast.unparse(one) for one in found}
        if len(same) != 1 or code.co_freevars:
            self.refusals.add(
                where, f"a lambda in line {code.co_firstlineno} of `{module.name}`; make a function of it"
            )
            return None
        key = (module.file, ast.unparse(found[0]))
        if key not in self._done:
            self._done[key] = self.sheet.names.new(where.partition(" of ")[0].removeprefix("the "), "_function")
            text = f"def {self._done[key]}({ast.unparse(found[0].args)}):\n    return {ast.unparse(found[0].body)}"
            self.source(module, text, where)
        return self._done[key]

    def _method(self, module: UserModule, value: Any, where: str) -> str | None:
        """A function for a method that does without its object."""
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
                why = f"`{value.__qualname__}` uses `{own}` in its line {node.lineno}; make a function of it"
                self.refusals.add(where, why)
                return None
        edits = Edits(text, tree)
        edits.drop_first_parameter(tree)
        self._done[key] = name = self.sheet.names.new(value.__name__, "_function")
        self.source(module, edits.done().replace(f"def {value.__name__}(", f"def {name}(", 1), where)
        return name

    def name(self, module: UserModule, name: str, where: str) -> str | None:
        """A global name of a module, brought into the program with all that it needs."""
        key = (module.file, name)
        if key in self._done:
            return self._done[key]
        statement = module.definitions[name]
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            return self._imported(module, statement, name, where)
        if not self._claim(name, key, where):
            return None
        self._done[key] = name
        if module.name != self.target and module.is_free:
            self.sheet.use(module.name, name)
            return name
        self.source(module, textwrap.dedent(module.segment(statement)), where)
        return name

    def source(
        self, module: UserModule, text: str, where: str, rank: int = _RANK, *, given: frozenset[str] = frozenset()
    ) -> None:
        """Put source of a module into the program, after all that it needs.

        Args:
            module: the module.
            text: the source.
            where: what it is used for, for messages.
            rank: where in the program it stands.
            given: names that are in the program already.
        """
        text = self.rewrite(module, text)
        self.needs(module, text, where, given)
        self.sources.append(text)
        self.sheet.add(text, rank)

    def needs(self, module: UserModule, text: str, where: str, given: frozenset[str] = frozenset()) -> None:
        """Bring in what a piece of a module's source uses of it, but for names that are given."""
        for used in sorted((globals_in(text) & set(module.definitions)) - given):
            self.name(module, used, where)

    def _imported(self, module: UserModule, statement: Any, name: str, where: str) -> str | None:
        package = str(module.values.get("__package__") or "")
        bound, source, inner = next(one for one in imported_by(statement, package) if one[0] == name)
        root = source.partition(".")[0]
        if root in FRAMEWORKS:
            return self._stood_in(source, inner or source, bound, where)
        if source in ("__future__",):
            return name
        other = UserModule.named(source)
        if other is None or is_installed(source) or (source != self.target and other.is_free):
            return self._from(source, inner, bound)
        if inner is None or inner not in other.definitions:
            self.refusals.add(where, f"`{source}` is used as a module, and needs the framework that is left out")
            return None
        found = self.name(other, inner, where)
        if found is not None and found != bound:
            self.refusals.add(where, f"`{inner}` of `{source}` is imported under another name, `{bound}`")
        return found

    def _from(self, source: str, inner: str | None, bound: str) -> str:
        if inner is None:
            self.sheet.module(source, bound if bound != source.partition(".")[0] else None)
        else:
            self.sheet.use(source, inner if inner == bound else f"{inner} as {bound}")
        return bound

    def _stood_in(self, source: str, inner: str, bound: str, where: str) -> str | None:
        write = self._stand_ins.get(inner)
        found = write() if write is not None else None
        if found is None:
            self.refusals.add(where, f"it uses `{inner}` of `{source}`, which is left out; write that part without it")
        elif found != bound:
            self.refusals.add(where, f"it calls `{inner}` of `{source}` `{bound}`; leave it its own name")
        return found

    def _claim(self, name: str, key: tuple[str, str], where: str) -> bool:
        """Whether a name is free for something of the user's."""
        if self._owners.setdefault(name, key) != key or self.sheet.names.is_taken(name):
            self.refusals.add(where, f"there are two things called `{name}`; rename one of them")
            return False
        self.sheet.names.take(name)
        return True
