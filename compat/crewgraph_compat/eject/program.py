"""Generate the formatted source of a LangGraph program from a crew or flow."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.flow.flow import FlowDefinition
from crewgraph.prompts.i18n import default_book
from crewgraph_compat.eject.crew.graph import CrewProgram, CrewWriter
from crewgraph_compat.eject.flow.graph import FlowWriter
from crewgraph_compat.eject.user_code.module import is_installed_package
from crewgraph_compat.eject.writing.parts import ProgramWriters
from crewgraph_compat.eject.writing.sheet import doc_line

_RULES = "E,F,I,B,UP,D,C90,PLR0915,PLC0415,BLE001,S110,T201,SIM,RET,RUF022,RUF100,PGH003,ANN"
"""The lint rules that a program follows."""

_LEFT_OUT = "D100,D102,D104,D105,D107,D203,D213,D214,ANN401"
_OPTIONS = (
    *("--isolated", "--target-version", "py311", "--config", "line-length=120"),
    *("--config", "lint.pycodestyle.max-line-length=130", "--config", 'lint.pydocstyle.convention="google"'),
)
_CHECK = (*_OPTIONS, "--config", "lint.mccabe.max-complexity=10", "--select", _RULES, "--ignore", _LEFT_OUT)


def format_program(text: str, *, is_users: bool) -> str:
    """Format a program with ruff; return it unchanged if ruff is not installed.

    Args:
        text: the program.
        is_users: whether it contains user code, which may break lint rules: these are then listed at the top.
    """
    if find_spec("ruff") is None:
        return re.sub(r"\n{4,}", "\n\n\n", text)
    text = _ruff(text, "check", "--fix-only", "--select", "I,F401", *_OPTIONS)
    # An unused value gets no name.
    text = _ruff(text, "check", "--fix-only", "--unsafe-fixes", "--select", "F841", *_OPTIONS)
    text = _ruff(text, "format", *_OPTIONS)
    broken = _broken(text) if is_users else []
    if broken:
        lines = [f"# ruff: noqa: {', '.join(broken)}"]
        if any(rule.startswith("ANN") for rule in broken):
            lines.append("# pyright: basic")
        text = _below_docstring(text, "\n".join(lines))
    return text


def _ruff(text: str, subcommand: str, *options: str) -> str:
    done = _form_run(text, subcommand, *options)
    return done.stdout if done.returncode in (0, 1) and done.stdout else text


def _broken(text: str) -> list[str]:
    """Return the lint rules that the program violates."""
    done = _form_run(text, "check", "--output-format", "json", *_CHECK)
    result = json.loads(done.stdout or "[]")
    return sorted({item["code"] for item in result if item.get("code")})


def _form_run(text: str, subcommand: str, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "ruff", subcommand, *options, "--no-cache", "--stdin-filename", "ejected.py", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)


def _below_docstring(text: str, lines: str) -> str:
    end = text.index('"""', 3) + 3
    return f"{text[:end]}\n\n{lines}{text[end:]}"


_MAIN = 10
_THREAD = 'parser.add_argument("--thread", default="1", help="the id of the run to start or continue")'


@dataclass(frozen=True)
class EjectedProgram:
    """The source of an ejected program."""

    source: str
    todo: tuple[str, ...]
    """Tools that the user has to write because their source is not available."""

    notes: tuple[str, ...] = ()
    """Notes for the user on the program."""

    @property
    def requirements(self) -> list[str]:
        """The packages that the program imports, by their pip names."""
        imported = {
            name.partition(".")[0] for node in ast.walk(ast.parse(self.source)) for name in _imported_modules(node)
        }
        known = packages_distributions()
        return sorted({_distribution(name, known) for name in imported - sys.stdlib_module_names if _is_package(name)})


def _imported_modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [item.name for item in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []


def _is_package(name: str) -> bool:
    """Whether a module belongs to a package rather than to the user."""
    return find_spec(name) is None or is_installed_package(name)


def _distribution(name: str, known: Mapping[str, list[str]]) -> str:
    plain = name.replace("_", "-")
    found = known.get(name, [plain])
    return plain if plain in found else found[0]


def eject_program(
    target: "CrewDefinition | FlowDefinition[Any]", module: str, search_path: Collection[Path] | None = None
) -> EjectedProgram:
    """Return the program of a crew or flow, which no longer depends on crewgraph.

    Args:
        target: the crew or flow.
        module: the name of its module in `sys.modules`; the program does not import it.
        search_path: the directories that the program can import the user's other modules from; None for any. What stands
            elsewhere is copied.

    Raises:
        CannotEject: something of it has no translation; names all of it.
    """
    reserved = frozenset[str]()
    paths = None if search_path is None else frozenset(path.resolve() for path in search_path)
    while True:
        write = _crew if isinstance(target, CrewDefinition) else _flow
        parts, program = write(cast("Any", target), module, reserved, paths)
        conflicts = parts.lifter.conflicts - reserved
        if not conflicts:
            break
        reserved |= conflicts  # written again, with other names for what is not the user's
    for name in sorted(parts.lifter.conflicts):
        parts.refusals.add(f"the name `{name}`", "the program imports it from LangGraph or LangChain; rename yours")
    parts.refusals.check(f"{type(target).__name__} `{getattr(target, 'name', None) or 'flow'}`")
    return program


def _flow(
    flow: "FlowDefinition[Any]", module: str, reserved: Collection[str], paths: frozenset[Path] | None
) -> tuple[ProgramWriters, EjectedProgram]:
    about = doc_line(f"The flow `{flow.flow_name}` as a LangGraph graph", 105)
    parts = ProgramWriters(about, module, default_book(), reserved)
    parts.lifter.search_path = paths
    writer = FlowWriter(flow, parts)
    called = f"flow `{flow.flow_name}`"
    writer.read()
    parts.refusals.check(called)
    parts.find_used_fields()
    writer.calls.write()
    graph = writer.write()
    parts.refusals.check(called)
    if writer.is_forked:
        parts.sheet.about += (
            "\n\nParallel nodes form one step of the graph: the next step starts when all of them have finished, and only then\n"
            "sees their changes to the state.\n"
        )
    _write_flow_main(parts, writer, graph)
    parts.finish()
    parts.refusals.check(called)
    return parts, EjectedProgram(
        format_program(parts.sheet.written(), is_users=True),
        tuple(parts.sheet.todo),
        (*parts.refusals.notes, *parts.sheet.notes),
    )


def _crew(
    crew: CrewDefinition, module: str, reserved: Collection[str], paths: frozenset[Path] | None
) -> tuple[ProgramWriters, EjectedProgram]:
    parts = ProgramWriters(_about(crew), module, crew.texts.book, reserved)
    parts.lifter.search_path = paths
    writer = CrewWriter(crew, parts)
    writer.read()
    parts.refusals.check(f"crew `{crew.name}`")
    parts.find_used_fields()
    program = writer.write()
    _write_main(parts, program)
    parts.finish()
    parts.refusals.check(f"crew `{crew.name}`")
    text = format_program(parts.sheet.written(), is_users=bool(parts.lifter.sources))
    return parts, EjectedProgram(text, tuple(parts.sheet.todo), (*parts.refusals.notes, *parts.sheet.notes))


def _about(crew: CrewDefinition) -> str:
    names = ", ".join(task.name or " ".join((task.template("description") or "").split())[:30] for task in crew.tasks)
    return doc_line(f"The crew `{crew.name}` as a LangGraph graph: {names}", 105)


def _write_main(parts: ProgramWriters, program: CrewProgram) -> None:
    """Write the `main` function that runs the graph with inputs from the command line."""
    sheet = parts.sheet
    sheet.module("sys")
    lines: list[str] = []
    value = ""
    if program.inputs:
        sheet.module("argparse")
        lines.append("parser = argparse.ArgumentParser(description=__doc__)")
        for name in program.inputs:
            flag = name.replace("_", "-")
            needed = "default=argparse.SUPPRESS" if name in program.optional else "required=True"
            lines.append(f'parser.add_argument("--{flag}", {needed})')
        lines.append("inputs = parser.parse_args()")
        value = ", ".join(f'"{name}": inputs.{name}' for name in (item.replace("-", "_") for item in program.inputs))
    value = f"{{{value}}}"
    if program.optional:
        sheet.use("typing", "cast")
        value = f"cast({program.inputs_class}, vars(inputs))"
    lines += _run(parts, program.graph, value)
    lines.append(f"result: str = {program.result()}")
    lines.append('sys.stdout.write(f"{result}\\n")')
    body = "\n".join(f"    {line}" for line in lines)
    summary = "Run the crew with inputs from the command line." if program.inputs else "Run the crew."
    main = sheet.names.new("main", "_program")
    sheet.add(f'def {main}() -> None:\n    """{summary}"""\n{body}', _MAIN)
    sheet.add(f'if __name__ == "__main__":\n    {main}()', _MAIN)


def _write_flow_main(parts: ProgramWriters, writer: FlowWriter, graph: str) -> None:
    """Write the `main` function that runs the graph of a flow with state values from the command line."""
    sheet, state = parts.sheet, writer.state
    for module in ("argparse", "json", "sys"):
        sheet.module(module)
    first = state.initial_values()
    given_values = values = "arguments.inputs" if parts.keeps_runs else "inputs"
    if first:
        values = f"{{**{sheet.names.new('INITIAL_STATE')}, **{given_values}}}"
        sheet.use("typing", "Any")
        sheet.add(f'INITIAL_STATE: dict[str, Any] = {first}\n"""The initial state of a run."""', 11)
    value = f"cast({state.graph_class}, {values})" if state.is_dict else f"{state.graph_class}(**{values})"
    if state.is_dict:
        sheet.use("typing", "cast")
    result = 'state.get("result")' if writer.returns_value else "state"
    main = sheet.names.new("main", "_program")
    lines = [
        "parser = argparse.ArgumentParser(description=__doc__)",
        'parser.add_argument("--inputs", type=json.loads, default={}, help="initial values of the state, as JSON")',
        *(
            [_THREAD, "arguments = parser.parse_args()"]
            if parts.keeps_runs
            else ["inputs = parser.parse_args().inputs"]
        ),
        *_run(parts, graph, value, "arguments.thread", is_async=writer.is_async),
        f'sys.stdout.write(f"{{{result}}}\\n")'.replace('get("result")', "get('result')"),
    ]
    body = "\n".join(f"    {line}" for line in lines)
    sheet.add(f'def {main}() -> None:\n    """Run the flow."""\n{body}', 15)
    sheet.add(f'if __name__ == "__main__":\n    {main}()', 15)


def _run(parts: ProgramWriters, graph: str, inputs: str, thread: str = '"1"', *, is_async: bool = False) -> list[str]:
    """Return the lines that run a graph and answer its interrupts from the terminal."""
    sheet = parts.sheet
    config = ", config" if parts.keeps_runs else ""
    if is_async:
        sheet.module("asyncio")
    run = f"asyncio.run({graph}.ainvoke({{}}{config}))" if is_async else f"{graph}.invoke({{}}{config})"
    lines = [f"state = {run.format(inputs)}"]
    if parts.keeps_runs:
        sheet.use("langchain_core.runnables", "RunnableConfig")
        lines.insert(0, f'config: RunnableConfig = {{"configurable": {{"thread_id": {thread}}}}}')
    if parts.asks_people:
        sheet.use("langgraph.types", "Command")
        lines += [
            'while questions := state.get("__interrupt__"):',
            '    sys.stdout.write(f"{questions[0].value}\\n")',
            f"    state = {run.format('Command(resume={questions[0].id: input()})')}",
        ]
    return lines
