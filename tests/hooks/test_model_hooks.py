"""Hooks before and after requests to models."""

import logging

import pytest
from modes import Mode

from crewgraph import ScriptedLLM
from crewgraph.errors import ModelCallBlocked
from crewgraph.hooks import LLMCallHookContext, before_llm_call, register_before_llm_call_hook
from hooks.sample_crew import TideTable, act, crew_of, fin


def test_messages_changed_in_place_are_asked_and_stay_in_the_conversation(mode: Mode):
    @before_llm_call
    def more(ctx: LLMCallHookContext) -> None:
        ctx.messages.append({"role": "user", "content": f"EXTRA{ctx.iterations}"})

    llm = ScriptedLLM([act("Tide_table", harbour="Brest"), fin("six")])
    assert mode.kickoff(crew_of(llm, TideTable())).raw == "six"
    first, second = llm.requests
    assert [m["content"] for m in first.messages if "EXTRA" in m["content"]] == ["EXTRA0"]
    assert [m["content"] for m in second.messages if "EXTRA" in m["content"]] == ["EXTRA0", "EXTRA1"]


def test_a_blocked_request_ends_the_task_at_once(mode: Mode):
    asked: list[bool] = []
    register_before_llm_call_hook(lambda _: asked.append(True) or False)
    llm = ScriptedLLM([fin("six")])
    with pytest.raises(ModelCallBlocked, match="before_llm_call"):
        mode.kickoff(crew_of(llm))
    assert (llm.requests, asked) == ([], [True])


def test_a_hook_that_fails_is_logged_and_the_next_one_is_called(mode: Mode, caplog: pytest.LogCaptureFixture):
    called: list[str] = []

    @before_llm_call
    def broken(_: LLMCallHookContext) -> None:
        raise RuntimeError("boom")

    register_before_llm_call_hook(lambda _: called.append("next"))
    with caplog.at_level(logging.WARNING, "crewgraph.hooks"):
        assert mode.kickoff(crew_of(ScriptedLLM([fin("six")]))).raw == "six"
    assert called == ["next"]
    assert "broken` at `pre_model_call` failed" in caplog.text


def test_a_hook_may_be_for_some_agents_only(mode: Mode):
    called: list[str] = []

    @before_llm_call(agents=["Pilot"])
    def pilots(_: LLMCallHookContext) -> None:
        called.append("pilots")

    @before_llm_call(agents=["Cook"])
    def cooks(_: LLMCallHookContext) -> None:
        called.append("cooks")

    mode.kickoff(crew_of(ScriptedLLM([fin("six")])))
    assert called == ["pilots"]


def test_what_was_recorded_before_a_crash_is_not_hooked_again(mode: Mode):
    hooked: list[int] = []

    @before_llm_call
    def more(ctx: LLMCallHookContext) -> None:
        hooked.append(ctx.iterations)
        ctx.messages.append({"role": "user", "content": f"EXTRA{ctx.iterations}"})

    table = TideTable()
    broken = ScriptedLLM([act("Tide_table", harbour="Brest"), *[ConnectionError("gone")] * 3])
    with pytest.raises(ConnectionError):
        mode.kickoff(crew_of(broken, table), thread_id="t")
    assert hooked[0] == 0
    hooked.clear()
    llm = ScriptedLLM([fin("six")])
    assert mode.resume(crew_of(llm, table), "t").raw == "six"
    assert (hooked, table.looked_up) == ([1], ["Brest"])
    (request,) = llm.requests
    assert [m["content"] for m in request.messages if "EXTRA" in m["content"]] == ["EXTRA0", "EXTRA1"]


def test_a_hook_that_only_looks_leaves_recorded_answers_as_they_are(mode: Mode):
    table = TideTable()
    broken = ScriptedLLM([act("Tide_table", harbour="Brest"), *[ConnectionError("gone")] * 3])
    with pytest.raises(ConnectionError):
        mode.kickoff(crew_of(broken, table), thread_id="t")
    seen: list[int] = []
    register_before_llm_call_hook(lambda ctx: seen.append(ctx.iterations))
    assert mode.resume(crew_of(ScriptedLLM([fin("six")]), table), "t").raw == "six"
    assert (seen, table.looked_up) == ([1], ["Brest"])
