"""The list of hooks, and calling them by hand."""

from dataclasses import dataclass
from typing import Any

import pytest

from crewgraph import hooks
from crewgraph.hooks import HookAborted, InterceptionPoint, before_llm_call, before_tool_call, dispatch, on
from crewgraph.hooks.llm_hooks import LLMCallHookContext
from crewgraph.hooks.registry import get_scoped_hooks, register_scoped, scoped_hooks, source_name
from crewgraph.hooks.tool_hooks import ToolCallHookContext

POINT = InterceptionPoint.INPUT


@dataclass
class Context:
    payload: Any = None
    agent_role: str | None = None
    tool_name: str | None = None


def test_hooks_are_called_in_order_and_what_they_return_is_the_payload():
    seen: list[Any] = []
    hooks.register_hook(POINT, lambda ctx: ctx.payload + 1)
    hooks.register_hook(POINT, lambda ctx: seen.append(ctx.payload))
    context = Context(1)
    assert dispatch(POINT, context) is context
    assert (context.payload, seen) == (2, [2])


def test_a_block_has_hooks_of_its_own_behind_those_for_all():
    seen: list[str] = []
    hooks.register_hook(POINT, lambda _: seen.append("all"))
    with scoped_hooks({POINT: [lambda _: seen.append("given")]}):
        register_scoped(POINT, lambda _: seen.append("added"))
        dispatch(POINT, Context())
        with scoped_hooks():
            dispatch(POINT, Context())
    dispatch(POINT, Context())
    assert seen == ["all", "given", "added", "all", "all"]
    assert get_scoped_hooks(POINT) == []
    with pytest.raises(RuntimeError, match="scoped_hooks"):
        register_scoped(POINT, print)


def test_who_aborts_is_the_hook_unless_it_says_otherwise():
    def abort(_: Any) -> None:
        raise HookAborted("no")

    hooks.register_hook(POINT, abort)
    with pytest.raises(HookAborted) as raised:
        dispatch(POINT, Context())
    assert raised.value.source is abort
    assert source_name("me") == "me"
    assert source_name(Context()) == "Context"


def test_hooks_are_counted_when_they_are_cleared():
    hooks.register_before_llm_call_hook(lambda _: None)
    hooks.register_after_tool_call_hook(lambda _: None)
    hooks.register_after_tool_call_hook(lambda _: None)
    assert hooks.clear_all_global_hooks() == {"llm_hooks": (1, 0), "tool_hooks": (0, 2), "total": (1, 2)}
    assert hooks.clear_all_llm_call_hooks() == (0, 0)


def test_a_decorated_function_stays_callable_and_can_be_taken_away():
    @before_llm_call
    def plain(_: Any) -> None: ...

    @before_llm_call(agents=["Pilot"])
    def filtered(_: Any) -> None: ...

    assert len(hooks.get_before_llm_call_hooks()) == 2
    assert hooks.unregister_before_llm_call_hook(plain)
    assert hooks.unregister_before_llm_call_hook(filtered)
    assert not hooks.unregister_before_llm_call_hook(plain)


def test_a_method_is_no_hook_of_all():
    class Project:
        @before_tool_call(tools=["x"])
        def look(self, _: Any) -> None: ...

    assert Project.look.is_before_tool_call_hook  # type: ignore[attr-defined]
    assert hooks.get_before_tool_call_hooks() == []


@pytest.mark.parametrize(
    ("tool", "role", "is_called"),
    [
        ("Tide Table", "Pilot", True), ("tide_table", "Pilot", True), ("TideTable", "pilot", False),
        ("x", "Pilot", False),
    ],
)  # fmt: skip
def test_filters_read_tools_loosely_and_roles_exactly(tool: str, role: str, is_called: bool):
    called: list[str] = []

    @on(POINT, tools=["tide table"], agents=["Pilot"])
    def look(ctx: Any) -> None:
        called.append(ctx.tool_name)

    dispatch(POINT, Context(tool_name=tool, agent_role=role))
    assert bool(called) is is_called


def test_a_context_asks_at_the_terminal(monkeypatch: pytest.MonkeyPatch):
    shown: list[str] = []

    def typed(text: str) -> str:
        shown.append(text)
        return "  go on "

    monkeypatch.setattr("builtins.input", typed)
    assert LLMCallHookContext().request_human_input("Really?") == "go on"
    assert "Really?" in shown[0]


def test_where_nobody_is_at_the_terminal_that_is_reported(monkeypatch: pytest.MonkeyPatch):
    def nobody(_: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", nobody)
    with pytest.raises(HookAborted, match="cannot get an answer"):
        ToolCallHookContext("search", {}, None).request_human_input("Really?")
