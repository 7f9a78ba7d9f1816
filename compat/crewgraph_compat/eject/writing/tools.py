"""Tools as LangChain tools: `@tool` functions with the user's source, or LangChain's own."""

import ast
import inspect
import json
import sys
import textwrap
from typing import Any

from crewgraph.definitions.agent.delegation_tools import CoworkerTool
from crewgraph.text import slug
from crewgraph.tools.adapt import AdaptedTool
from crewgraph.tools.base import BaseTool, Tool, keep_always
from crewgraph.tools.langchain import is_langchain_tool
from crewgraph_compat.eject.user_code.expressions import SourceEdits
from crewgraph_compat.eject.user_code.module import FRAMEWORKS, UserCode, UserModule, is_installed_package
from crewgraph_compat.eject.writing.agent_graph import AgentGraph
from crewgraph_compat.eject.writing.installed_tools import NotPlainTool, PlainFunction, construction, plain_function
from crewgraph_compat.eject.writing.sheet import ProgramText, doc_line

_RANK = 4
_DEFINED = frozenset({"tool"})


class ToolFunctions:
    """Write the tools of a program, each once.

    Args:
        sheet: the program.
        lifter: copies the user's code.
        loop: the agents, which record the requirements of the tools.
    """

    def __init__(self, sheet: ProgramText, lifter: UserCode, loop: AgentGraph) -> None:
        self._sheet, self._lifter, self._loop = sheet, lifter, loop
        self._written: dict[int, str | None] = {}
        self._by_content: dict[tuple[object, ...], str] = {}
        """The names of the tools by their content: equal ones are written once."""

    def name(self, adapted: AdaptedTool, where: str) -> str | None:
        """Return the name of a tool in the program, or None after recording that it has no translation.

        Args:
            adapted: the tool.
            where: its owner, for messages.
        """
        source = adapted.source
        if isinstance(source, CoworkerTool):  # written with the agent
            return None
        if id(source) not in self._written:
            self._written[id(source)] = self._tool(adapted, source, f"tool `{adapted.title}` of {where}")
        return self._written[id(source)]

    def _tool(self, adapted: AdaptedTool, source: Any, where: str) -> str | None:
        refuse = self._lifter.refusals.add
        if adapted.require_approval or adapted.once:
            refuse(where, "it requires approval, or its calls must never be repeated (`once`)")
        if is_langchain_tool(source):
            return self._of_langchain(source, where)
        if (most := getattr(source, "max_usage_count", None)) is not None:
            self._loop.max_uses[adapted.name] = most
        keeps = getattr(source, "cache_function", keep_always)
        if keeps is not keep_always:
            self._loop.cache_conditions[adapted.name] = (
                self._lifter.value(keeps, f"the cache function of {where}") or "None"
            )
        if getattr(source, "result_as_answer", False):
            self._loop.returns_directly = True
        if isinstance(source, Tool):
            return self._of_function(adapted, source.func, where, ends=source.result_as_answer)
        if inspect.isfunction(source):
            return self._of_function(adapted, source, where, ends=False)
        if isinstance(source, BaseTool):
            return self._of_class(adapted, source, where)
        refuse(where, f"`{type(source).__name__}` is not a supported tool type")
        return None

    def _of_langchain(self, source: Any, where: str) -> str | None:
        if getattr(source, "return_direct", False):
            self._loop.returns_directly = True
        function = getattr(source, "func", None) or getattr(source, "coroutine", None)
        for module in self._modules(function, source):
            name = module.name_of(source)
            if name is not None:
                return self._lifter.name(module, name, where)
        self._lifter.refusals.add(where, "it has no top-level name in a module; give it one")
        return None

    def _modules(self, *values: Any) -> list[UserModule]:
        results = [UserModule.of(value) for value in values if value is not None]
        results.append(UserModule.named(self._lifter.target))
        return [module for module in results if module is not None]

    def _of_function(self, adapted: AdaptedTool, function: Any, where: str, *, ends: bool) -> str | None:
        self._loop.is_async |= inspect.iscoroutinefunction(function)
        self._sheet.use("langchain_core.tools", "tool")
        module, name = UserModule.of(function), str(getattr(function, "__name__", ""))
        if module is None or name not in module.definitions:
            return self._left(adapted, where, "its source is not at the top level of a module")
        written = _decorator(adapted, name, ends=ends)
        if (is_installed_package(module.name) and module.name not in FRAMEWORKS) or self._lifter.is_imported(module):
            self._sheet.use(module.name, name)
            called = self._sheet.names.new(f"{name}_tool")
            self._sheet.add(f"{called} = {_applied(adapted, ends=ends)}({name})", _RANK)
            return called
        text = _without_decorators(textwrap.dedent(module.segment(module.definitions[name])))
        key = (module.file, name, written)
        if key not in self._by_content:
            called = self._by_content[key] = self._sheet.names.new(name, "_tool")
            written = _decorator(adapted, called, ends=ends)
            text = text.replace(f"def {name}(", f"def {called}(", 1)
            if called == name:
                self._lifter.register(module, name, called)
            self._lifter.source(module, f"{written}\n{text}", where, _RANK, defined=_DEFINED)
        return self._by_content[key]

    def _of_class(self, adapted: AdaptedTool, source: BaseTool, where: str) -> str | None:
        kind, run = type(source), type(source)._run  # pyright: ignore[reportPrivateUsage]
        module = UserModule.of(kind)
        if module is None or is_installed_package(module.name):
            return self._installed(adapted, source, where)
        self._loop.is_async |= inspect.iscoroutinefunction(run)
        self._sheet.use("langchain_core.tools", "tool")
        try:
            text = textwrap.dedent(inspect.getsource(run))
            function = _as_function(text, source)
        except OSError as error:
            return self._left(adapted, where, str(error))
        except _NotPlain as error:
            return self._object(adapted, source, module, where, str(error))
        key = (kind, adapted.name, source.description, function, source.result_as_answer)
        if key in self._by_content:
            return self._by_content[key]
        name = self._by_content[key] = self._sheet.names.new(slug(adapted.name), "_tool")
        text = function.replace("def _run(", f"def {name}(", 1)
        words = [] if adapted.name == name else [json.dumps(adapted.name, ensure_ascii=False)]
        schema = source.args_schema
        owner = UserModule.of(schema)
        if owner is not None and owner.values.get(schema.__name__) is schema:
            lifted = self._lifter.value(schema, where)
            words += [f"args_schema={lifted}"] if lifted else []
        text, is_documented = _documented(text, source.description)
        words += [] if is_documented else [f"description={json.dumps(source.description, ensure_ascii=False)}"]
        words += ["return_direct=True"] if source.result_as_answer else []
        decorated = f"@tool({', '.join(words)})" if words else "@tool"
        self._lifter.source(module, f"{decorated}\n{text}", where, _RANK, defined=_DEFINED)
        return name

    def _object(self, adapted: AdaptedTool, source: BaseTool, module: UserModule, where: str, why: str) -> str | None:
        """Return the name of an object of the user's class, whose base becomes LangChain's `BaseTool`."""
        kind = type(source)
        try:
            words = construction(source)
        except NotPlainTool as error:
            return self._left(adapted, where, f"{why}, and {error}")
        if kind.__name__ not in module.definitions:
            return self._left(adapted, where, f"{why}, and its class is not at the top level of a module")
        key = (kind, adapted.name, words)
        if key not in self._by_content:
            called = self._lifter.value(kind, where)
            if called is None:
                return None
            name = self._by_content[key] = self._sheet.names.new(slug(adapted.name), "_tool")
            lines = [f"{name} = {called}({words})"]
            if source.name != adapted.name:
                lines.append(f"{name}.name = {json.dumps(adapted.name)}")
            if source.result_as_answer:
                lines.append(f"{name}.return_direct = True")
            self._sheet.add("\n".join(lines), _RANK)
        return self._by_content[key]

    def _installed(self, adapted: AdaptedTool, source: BaseTool, where: str) -> str:
        """Return the name of a tool of an installed package: a plain function for it, or a function that calls it."""
        kind = type(source)
        key = (kind, adapted.name, repr({name: getattr(source, name) for name in kind.model_fields}))
        if key in self._by_content:
            return self._by_content[key]
        plain = plain_function(source)
        if plain is None:
            called = self._calling(adapted, source, where)
            if called is None:
                return self._left(
                    adapted, where, f"`{kind.__module__}.{kind.__name__}` is defined in an installed package"
                )
            plain = called
        self._sheet.use("langchain_core.tools", "tool")
        for module, names in plain.imports.items():
            if names:
                self._sheet.use(module, *names)
            else:
                self._sheet.module(module)
        name = self._by_content[key] = self._sheet.names.new(slug(adapted.name), "_tool")
        described = json.dumps(adapted.spec["description"], ensure_ascii=False)
        ends = ", return_direct=True" if source.result_as_answer else ""
        body = textwrap.indent(plain.body, "    ")
        self._sheet.add(
            f"@tool({json.dumps(adapted.name)}, description={described}{ends})\n"
            f"def {name}({plain.parameters}) -> str:\n"
            f'    """{doc_line(adapted.title)}"""\n{body}',
            _RANK,
        )
        return name

    def _calling(self, adapted: AdaptedTool, source: BaseTool, where: str) -> PlainFunction | None:
        """Return the function that calls a tool of crewai_tools, if that can be created again."""
        kind = type(source)
        if kind.__module__.partition(".")[0] != "crewai_tools" or not hasattr(
            sys.modules["crewai_tools"], kind.__name__
        ):
            return None
        try:
            words = construction(source)
        except NotPlainTool:
            return None
        schema: dict[str, Any] = adapted.spec["parameters"]
        required, listed = schema.get("required", ()), schema.get("properties", {})
        names = sorted(listed, key=lambda name: name not in required)
        takes = [
            f"{name}: {_python_type(listed[name])}{'' if name in required else ' | None = None'}" for name in names
        ]
        chosen = ", ".join(f"{name}={name}" for name in names)
        if set(names) - set(required):  # what the model leaves out is not passed on
            entries = ", ".join(f'"{name}": {name}' for name in names)
            chosen = f"**{{name: value for name, value in {{{entries}}}.items() if value is not None}}"
        self._sheet.notes.append(
            f"{where}: imported from `crewai_tools`, which needs CrewAI (pip install crewai-tools); replace it to do without"
        )
        if any("Any" in item for item in takes):
            self._sheet.use("typing", "Any")
        body = f"return str({kind.__name__}({words}).run({chosen}))"
        return PlainFunction(", ".join(takes), body, {"crewai_tools": (kind.__name__,)})

    def _left(self, adapted: AdaptedTool, where: str, why: str) -> str:
        """Return a placeholder for a tool that the user has to write."""
        key = (adapted.name, json.dumps(adapted.spec, sort_keys=True, default=str))
        if key in self._by_content:
            return self._by_content[key]
        self._sheet.use("langchain_core.tools", "tool")
        name = self._by_content[key] = self._sheet.names.new(slug(adapted.name), "_tool")
        names = list(adapted.spec["parameters"].get("properties", {}))
        value = ", ".join(f"{item}: str" for item in names)
        message = json.dumps(f"TODO: write the tool `{adapted.name}`", ensure_ascii=False)
        described = json.dumps(adapted.spec["description"], ensure_ascii=False)
        self._sheet.add(
            f"@tool({json.dumps(adapted.name)}, description={described})\n"
            f"def {name}({value}) -> str:\n"
            f'    """The implementation is not translated."""\n'
            f"    # TODO: {' '.join(why.split())[:90]}\n"
            f"    raise NotImplementedError({message})",
            _RANK,
        )
        self._sheet.todo.append(f"{where}: {why}")
        return name


class _NotPlain(Exception):
    """A method needs its object."""


_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list[Any]",
    "object": "dict[str, Any]",
}


def _python_type(schema: Any) -> str:
    """Return the annotation for a parameter of a tool."""
    kinds = [_TYPES[item["type"]] for item in (schema, *schema.get("anyOf", ())) if item.get("type") in _TYPES]
    return kinds[0] if kinds else "str"


def _decorator(adapted: AdaptedTool, name: str, *, ends: bool) -> str:
    applied = _applied(adapted, ends=ends, name=name)
    return f"@{applied}"


def _applied(adapted: AdaptedTool, *, ends: bool, name: str = "") -> str:
    words = [] if adapted.name == name else [json.dumps(adapted.name, ensure_ascii=False)]
    words += ["return_direct=True"] if ends else []
    return f"tool({', '.join(words)})" if words else "tool"


def _without_decorators(text: str) -> str:
    node: Any = ast.parse(text).body[0]
    return "\n".join(text.splitlines()[node.lineno - 1 :])


def _documented(text: str, description: str) -> tuple[str, bool]:
    """Return a function with the tool's description as its docstring, and whether that was possible."""
    function: Any = ast.parse(text).body[0]
    if ast.get_docstring(function) is not None or doc_line(description, 100) != description:
        return text, False
    lines = text.splitlines()
    first = function.body[0]
    if first.lineno == function.lineno:  # everything is on one line
        return text, False
    indent = " " * first.col_offset
    return "\n".join([*_head(lines, function), f'{indent}"""{description}"""', *_rest(lines, function)]), True


def _head(lines: list[str], function: Any) -> list[str]:
    """Return the lines of a signature."""
    ends: list[int] = [getattr(node, "end_lineno", 0) for node in ast.walk(function.args)]
    end = max(function.lineno, *ends, 0 if function.returns is None else int(function.returns.end_lineno))
    while not lines[end - 1].split("#")[0].rstrip().endswith(":"):
        end += 1
    return lines[:end]


def _rest(lines: list[str], function: Any) -> list[str]:
    return lines[len(_head(lines, function)) :]


def _as_function(text: str, source: BaseTool) -> str:
    """Return the source of `_run` without its object, with the values that it reads from it inlined.

    Raises:
        _NotPlain: it uses more of its object than values.
    """
    tree = ast.parse(text)
    function: Any = tree.body[0]
    if function.decorator_list or not function.args.args:
        raise _NotPlain("its `_run` is decorated, or takes no `self`")
    own = function.args.args[0].arg
    edits = SourceEdits(text, tree)
    read: set[int] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == own:
            read.add(id(node.value))
            value = getattr(source, node.attr, None)
            if not isinstance(node.ctx, ast.Load) or not isinstance(value, (str, int, float, bool)):
                raise _NotPlain(f"its `_run` uses `self.{node.attr}` in line {node.lineno}, which is not a plain value")
            edits.replace(node, json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value))
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id == own and id(node) not in read:
            raise _NotPlain(f"its `_run` uses `self` as a whole in line {node.lineno}")
    edits.drop_first_parameter(function)
    return edits.done()
