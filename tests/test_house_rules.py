"""The rules that keep the house readable, held by a test."""

import ast
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted([*(ROOT / "crewgraph").rglob("*.py"), *(ROOT / "compat").rglob("*.py")])
TREES = {path: ast.parse(path.read_text("utf-8")) for path in SOURCES}
DOOR = ROOT / "crewgraph" / "definitions" / "door.py"
BROAD_EXCEPTS = {
    "crewgraph/cel/expressions.py",  # whatever the evaluator raises is told with the expression
    "crewgraph/core/interpreter.py",  # thrown into the body, which may catch it
    "crewgraph/core/journal.py",  # any saver's failure becomes a JournalError
    "compat/crewgraph_compat/stand_ins/events.py",  # given to the caller
    "compat/crewgraph_compat/stand_ins/flows/streaming.py",  # raised by whoever takes the frames
    "crewgraph/compiler/cached.py",  # a cache that fails is logged, and the tool is used
    "crewgraph/compiler/bodies/agent_on_task.py",  # the failure is told, then raised again
    "crewgraph/compiler/bodies/crew_plan.py",  # the failure is told, then raised again
    "compat/crewgraph_compat/stand_ins/agents/steps.py",  # the failure is told, then raised again
    "crewgraph/compiler/bodies/kickoff.py",  # the failure is told, then raised again
    "crewgraph/evaluation/agents.py",  # told, and the other sides of the work are judged
    "crewgraph/evaluation/experiment.py",  # told with the case, and the other cases are run
    "crewgraph/hooks/registry.py",  # a hook that fails is logged, and the run goes on
    "crewgraph/runtime/boundaries.py",  # hooks are told of the failure, then it is raised again
    "crewgraph/compiler/remembering.py",  # a memory that fails is told, and the work goes on
    "crewgraph/memory/entity.py",  # raised once the other entities are kept
    "crewgraph/compiler/bodies/task.py",  # the failure is told, then raised again
    "crewgraph/compiler/flow/landing.py",  # raised once what runs beside has been seen to
    "crewgraph/compiler/flow/saving.py",  # any backend's failure becomes a StorageError
    "crewgraph/knowledge/files.py",  # whatever a reader of files raises is told with the file's name
    "crewgraph/runtime/chat.py",  # shown to whoever talks, and the conversation goes on
    "crewgraph/runtime/conversation.py",  # a model that fails is told, and the turn goes on by the route that is there for it
    "compat/crewgraph_compat/stand_ins/flows/state.py",  # any backend's failure becomes a RuntimeError
    "crewgraph/runtime/for_each.py",  # raised once the other runs have ended
    "crewgraph/memory/analyze.py",  # a model that fails is told, and what is to be remembered is kept
    "crewgraph/memory/custom_storage.py",  # any failure of a storage of somebody becomes a StorageError
    "crewgraph/storage/store/shelf.py",  # any store's failure becomes a StorageError
    "crewgraph/events/bus.py",  # a failing listener is logged, never fatal
    "crewgraph/tools/mcp/session.py",  # whatever a connection raises is told with the server's name
    "compat/crewgraph_compat/stand_ins/jobs.py",  # told with the job
    "compat/crewgraph_compat/stand_ins/models/calls.py",  # raised again, unless it is to be done again
    "crewgraph/tools/use.py",  # a failing tool is shown to the model
}


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))


def test_a_file_has_at_most_400_lines():
    lengths = {named(p): len(p.read_text("utf-8").splitlines()) for p in SOURCES}
    assert {name: n for name, n in lengths.items() if n > 400} == {}


def test_a_function_has_at_most_60_lines():
    long = [
        f"{named(path)}:{f.name} {f.end_lineno - f.lineno + 1}"
        for path, tree in TREES.items()
        for f in functions(tree)
        if f.end_lineno is not None and f.end_lineno - f.lineno + 1 > 60
    ]
    assert long == []


def test_only_the_door_imports_our_own_modules_late():
    late = [
        f"{named(path)}:{node.lineno}"
        for path, tree in TREES.items()
        if path != DOOR
        for f in functions(tree)
        for node in ast.walk(f)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    assert late == []


def test_what_is_loaded_by_name_lies_no_higher_than_who_loads_it():
    # Import-linter reads imports, not strings.
    layers = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0][
        "layers"
    ]
    height = {room: -at for at, layer in enumerate(layers) for room in layer.split(" | ")}
    loaded = [
        (named(path), node.args[0].value)
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "load" and node.args
        if isinstance(node.args[0], ast.Constant) and str(node.args[0].value).startswith("crewgraph.")
    ]
    assert len(loaded) > 20
    assert [
        (place, target)
        for place, target in loaded
        if place.startswith("crewgraph/") and place.count("/") > 1
        if height[place.split("/")[1]] < height[str(target).split(".")[1]]
    ] == []


def test_no_file_is_named_for_leftovers():
    assert [named(p) for p in SOURCES if p.stem in {"utils", "helpers", "misc", "common"}] == []
    assert [
        f"{named(path)}:{node.name}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name.endswith(("Manager", "Helper", "Util", "Utils"))
    ] == []


def test_every_exception_is_caught_only_where_it_is_passed_on_or_shown():
    broad = {
        named(path)
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "Exception"))
    }
    assert broad <= BROAD_EXCEPTS


EVALUATING = {
    "crewgraph/project/flow_script.py",  # scripts of declared flows, where the environment allows them
}
"""Where Python from a file is run."""


def test_nothing_is_pickled_or_evaluated():
    names = {"pickle", "cloudpickle", "dill", "marshal"}
    found = [
        f"{named(path)}:{node.lineno}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Import) and any(a.name in names for a in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module in names)
        or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {"eval", "exec"}
            and named(path) not in EVALUATING
        )
    ]
    assert found == []


@pytest.mark.parametrize("path", [p for p in SOURCES if p.name != "__init__.py"], ids=named)
def test_all_names_what_a_module_offers(path: Path):
    tree = TREES[path]
    listed: list[str] | None = None
    offered: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name == "__all__":
                listed = [ast.literal_eval(e) for e in node.value.elts]  # type: ignore[attr-defined]
            elif not name.startswith("_") and not _is_type_variable(node.value):
                offered.add(name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if not node.target.id.startswith("_"):
                offered.add(node.target.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name[0] != "_":
            offered.add(node.name)
    assert listed is not None, "has no __all__"
    assert listed == sorted(listed, key=_constants_first), "__all__ is not sorted"
    assert set(listed) == offered


def _is_type_variable(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in {"TypeVar", "ParamSpec"}
    )


def _constants_first(name: str) -> tuple[int, str]:
    """As ruff sorts `__all__`: constants, then classes, then the rest."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2, name)


def test_the_rooms_import_downwards_only():
    contracts = subprocess.run(
        ["lint-imports", "--no-cache"], cwd=ROOT, capture_output=True, text=True, env=_with_venv_path(), check=False
    )
    assert contracts.returncode == 0, contracts.stdout + contracts.stderr


def _with_venv_path() -> dict[str, str]:
    import os
    import sys

    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "compat")}


def test_nothing_committed_names_a_machine_or_a_registry():
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    forbidden = ("/" + "root/", "/" + "work/", "/" + "farm/", "files.python" + "hosted.org")
    found = [
        f"{name}: {word}"
        for name in files
        if (ROOT / name).is_file() and (ROOT / name).stat().st_size < 2_000_000
        for word in forbidden
        if word in (ROOT / name).read_text("utf-8", errors="ignore")
    ]
    assert found == []
