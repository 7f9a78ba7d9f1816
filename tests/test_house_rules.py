"""The house rules of the code, enforced by tests."""

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = sorted([*(ROOT / "crewgraph").rglob("*.py"), *(ROOT / "compat").rglob("*.py")])
BROAD_EXCEPTS = {
    "crewgraph/contrib/declared/expression.py",  # whatever the evaluator raises is reported with the expression
    "crewgraph/cli/app.py",  # printed, with the frames of the user's code
    "crewgraph/core/interpreter.py",  # thrown into the body, which may catch it
    "crewgraph/core/journal.py",  # any saver's failure becomes a JournalError
    "crewgraph/compiler/agent/cached_tool.py",  # a cache that fails is logged, and the tool is used
    "crewgraph/compiler/task/runner.py",  # the failure is reported, then raised again
    "crewgraph/compiler/crew/planning.py",  # the failure is reported, then raised again
    "crewgraph/compiler/agent/kickoff.py",  # the failure is reported, then raised again
    "crewgraph/contrib/middleware/loop.py",  # a tool's error that no middleware handled is shown to the model
    "crewgraph/contrib/serve/app.py",  # logged, and answered with the type and the text
    "crewgraph/contrib/serve/execution.py",  # the failure is logged, stored with the run and sent to its readers
    "crewgraph/contrib/queue/worker.py",  # the failure is recorded with the job, then raised again
    "crewgraph/hooks/registry.py",  # a hook that fails is logged, and the run continues
    "crewgraph/llm/fallback.py",  # raised again unless the next model may avoid it
    "crewgraph/llm/retry.py",  # raised again unless the request is to be repeated
    "crewgraph/runtime/run_hooks.py",  # exit hooks see the failure, then it is raised again
    "crewgraph/compiler/agent/memory_calls.py",  # a memory that fails is reported, and the work continues
    "crewgraph/memory/kinds.py",  # raised once the other entities are saved
    "crewgraph/compiler/task/body.py",  # the failure is reported, then raised again
    "crewgraph/compiler/flow/asking.py",  # a failure of learning from feedback is a warning
    "crewgraph/compiler/flow/state_changes.py",  # whatever a user's validator raises is a doubt
    "crewgraph/compiler/flow/scheduler.py",  # raised once parallel methods were handled
    "crewgraph/compiler/flow/saving.py",  # any backend's failure becomes a StorageError
    "crewgraph/knowledge/files.py",  # whatever a reader of files raises is reported with the file's name
    "crewgraph/contrib/conversations/crew_chat.py",  # shown to the user, and the conversation continues
    "crewgraph/contrib/conversations/conversation.py",  # a model that fails is logged, and the fallback route is taken
    "crewgraph/runtime/run_tool.py",  # raised again once the parallel calls have ended
    "crewgraph/runtime/crew/for_each.py",  # raised once the other runs have ended
    "crewgraph/memory/analyze.py",  # a model that fails is logged, and the text is saved unchanged
    "crewgraph/memory/store_records.py",  # any failure of a user's storage becomes a StorageError
    "crewgraph/storage/store/namespace.py",  # any store's failure becomes a StorageError
    "crewgraph/events/bus.py",  # a failing listener is logged, never fatal
    "crewgraph/tools/mcp/session.py",  # whatever a connection raises is reported with the server's name
    "crewgraph/storage/database.py",  # raised again, or done in a thread where nothing may block
    "crewgraph/tools/use.py",  # a failing tool is shown to the model
}


@cache
def trees() -> dict[Path, ast.Module]:
    """The syntax trees of all sources; parsed where these tests run, not where they are collected."""
    return {path: ast.parse(path.read_text("utf-8")) for path in SOURCES}


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))


def test_what_is_loaded_by_name_is_not_our_own():
    assert [
        f"{named(path)}:{node.lineno}"
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "load" and node.args
        if isinstance(node.args[0], ast.Constant) and str(node.args[0].value).startswith("crewgraph")
    ] == []


TWO_MEANINGS = {
    "AgentDefinition",  # of a declared crew, as CrewAI calls it
    "CrewDefinition",
    # CrewAI has the name in several of its modules, and programs import each of them.
    *("CodeInterpreterTool", "tool"),
    "pytest_addoption",  # a hook of pytest
    "main",  # of `python -m crewgraph` and of `python -m crewgraph_compat`
}
"""The only public names that are defined at the top of more than one file."""


def test_a_public_name_has_one_meaning():
    places: dict[str, set[str]] = {}
    for path, tree in trees().items():
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name[0] != "_":
                places.setdefault(node.name, set()).add(named(path))
    assert {name for name, files in places.items() if len(files) > 1} == TWO_MEANINGS


def test_no_file_is_named_for_leftovers():
    assert [named(p) for p in SOURCES if p.stem in {"utils", "helpers", "misc", "common"}] == []
    assert [
        f"{named(path)}:{node.name}"
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name.endswith(("Manager", "Helper", "Util", "Utils"))
    ] == []


def test_every_exception_is_caught_only_where_it_is_passed_on_or_shown():
    broad = {
        named(path)
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "Exception"))
    }
    assert broad <= BROAD_EXCEPTS


KEPT_CONTEXT_VALUES = {
    "crewgraph/events/lineage.py",  # the open scopes move on with each event of the running code
    "crewgraph/compiler/task/briefing.py",  # of the context of one effect
    "crewgraph/llm/current_call.py",  # of the context of one effect
    "crewgraph/compiler/agent/memory_calls.py",  # of the context of one effect
    "crewgraph/core/loops/bridge.py",  # of a context that it makes
    "crewgraph/core/current.py",  # of a context that it makes
    "crewgraph/events/background.py",  # of a task that it starts
    "crewgraph/events/stream_context.py",  # returns the token to the user
    "crewgraph/compiler/agent/human_review.py",  # returns the token to the user
    "crewgraph/definitions/task/task.py",  # for the user's own context
}
"""Where context variables are set and not given back."""


def test_context_variables_are_given_back_in_their_own_context_only():
    variables = {"var_child_runnable_config", "_current_config", *_context_variables()}
    kept: set[str] = set()
    for path, tree in trees().items():
        for node, around in _with_scopes(tree):
            if not isinstance(node, ast.Attribute) or _last_name(node.value) not in variables:
                continue
            assert node.attr != "reset" or named(path) == "crewgraph/scoped.py", (
                f"{named(path)}:{node.lineno}: `give_back` resets"
            )
            if node.attr == "set" and not any(_calls(scope, "give_back") for scope in around):
                kept.add(named(path))
    assert kept == KEPT_CONTEXT_VALUES


def _context_variables() -> Iterator[str]:
    for tree in trees().values():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                continue
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            annotation = ast.unparse(node.annotation) if isinstance(node, ast.AnnAssign) else ""
            if annotation.startswith("ContextVar[") or _calls(node.value, "ContextVar"):
                yield _last_name(target)


def _with_scopes(node: ast.AST, around: tuple[ast.AST, ...] = ()) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
    """Yield the nodes of a tree, each with the functions and classes around it."""
    for child in ast.iter_child_nodes(node):
        yield child, around
        is_scope = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        yield from _with_scopes(child, (*around, child) if is_scope else around)


def _last_name(node: ast.AST) -> str:
    match node:
        case ast.Attribute():
            return node.attr
        case ast.Name():
            return node.id
        case ast.Call():
            return _last_name(node.func)
        case _:
            return ""


def _calls(node: ast.AST, name: str) -> bool:
    return any(isinstance(call, ast.Call) and _last_name(call) == name for call in ast.walk(node))


SILENT_CLEANUPS = {
    "crewgraph/contrib/conversations/crew_chat.py",  # forgets a message
    "crewgraph/llm/rate_limit.py",  # gives its place in a queue back
    "crewgraph/events/frames.py",  # remembers the failure
    "crewgraph/core/cancellation.py",  # tells threads to stop
    "crewgraph/core/pregel.py",  # closes what a loop of LangGraph opened
    "crewgraph/storage/claims/owned_graph.py",  # gives a thread back
    "crewgraph/core/operations.py",  # tells a lost run by its context
    "crewgraph/core/loops/bridge.py",  # tells a lost run by its context
}
"""Where whatever ends a coroutine or generator is handled, and nothing is reported that other code could hear of."""


def test_what_ends_a_lost_run_is_not_reported():
    def suspends(block: list[ast.stmt]) -> bool:
        kinds = (ast.Await, ast.Yield, ast.YieldFrom, ast.AsyncFor, ast.AsyncWith)
        return any(isinstance(node, kinds) for node in _of_this_function(block))

    reported = {
        named(path)
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Try) and suspends(node.body)
        for place, handler in enumerate(node.handlers)
        if (handler.type is None or _last_name(handler.type) == "BaseException")
        and not any("GeneratorExit" in ast.unparse(before.type or handler) for before in node.handlers[:place])
    }
    assert reported == SILENT_CLEANUPS


def _of_this_function(block: list[ast.stmt]) -> Iterator[ast.AST]:
    left: list[ast.AST] = [*block]
    while left:
        node = left.pop()
        yield node
        left += [
            child
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        ]


EVALUATING = {
    "crewgraph/contrib/declared/steps.py"  # scripts of declared flows, where the environment allows them
}
"""Where Python from a file is run."""


def test_nothing_is_pickled_or_evaluated():
    names = {"pickle", "cloudpickle", "dill", "marshal"}
    found = [
        f"{named(path)}:{node.lineno}"
        for path, tree in trees().items()
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


def test_sql_numbers_no_placeholders():
    """Python 3.12.1 warns of `?1` as if it were a name."""
    found = [
        f"{named(path)}:{node.lineno}"
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.search(r"\b(SELECT|INSERT|UPDATE|DELETE|WHERE|SET|VALUES|AND|LIMIT)\b.* \(?\?\d", node.value)
    ]
    assert found == []


def test_only_packages_list_their_names():
    """What a module offers are its names without an underscore; a list would say it again."""
    assert [named(path) for path in trees() if path.name != "__init__.py" and "\n__all__" in path.read_text()] == []


def test_packages_import_downwards_only():
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
