"""Performing and recording effects: what is performed once, what is answered from the journal, and what is repeated."""

from pathlib import Path
from typing import Any

import pytest
from core.parts import Counting, ask, at, chain, said, use
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, RetryPolicy, interrupt
from modes import Mode, graph_of

from crewgraph.core.effects import Ask, Body, Call, EffectFailed, ModelCall, Notify, Scope, Together
from crewgraph.core.plain import NotPlain
from crewgraph.errors import CompileError
from crewgraph.storage.checkpoints import SqliteCheckpointer

ONCE_MORE = RetryPolicy(initial_interval=0.01, jitter=False)


@pytest.fixture(params=["none", "memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "sqlite":
        with SqliteCheckpointer(tmp_path / "runs.db") as opened:
            yield opened
    else:
        yield InMemorySaver() if request.param == "memory" else None


def test_a_retry_in_the_process_repeats_nothing_that_was_done(mode: Mode, saver: BaseCheckpointSaver[Any] | None):
    counting, failures = Counting(), ["connection lost"]

    def body(state: dict[str, Any]) -> Body[Any]:
        yield ask(counting.model(), "q")
        for i in range(3):
            yield use(counting.tool("tool"), i=i)
        if failures:
            raise ConnectionError(failures.pop())
        last = yield use(counting.tool("tool"), i=3)
        return {"outputs": {"last": last}}

    graph = chain(("task", body), retry=ONCE_MORE, checkpointer=saver)
    assert mode.invoke(graph, {"outputs": {}}, at())["outputs"] == {"last": "<tool3>"}
    assert counting.taken() == {"model": 1, "tool0": 1, "tool1": 1, "tool2": 1, "tool3": 1}


def test_a_failure_that_the_body_caught_is_remembered(mode: Mode):
    counting, tool_fails, crashes = Counting(), ["first"], ["crash"]

    def fails_once(_: dict[str, Any]) -> str:
        if tool_fails:
            raise ValueError(tool_fails.pop())
        return "fine"

    def body(state: dict[str, Any]) -> Body[Any]:
        try:
            first = yield use(counting.tool("bad", fails_once))
        except EffectFailed as failure:
            first = str(failure)
        then = yield use(counting.tool("then"))
        if crashes:
            raise RuntimeError(crashes.pop())
        return {"outputs": {"seen": [first, then]}}

    graph = chain(("task", body), checkpointer=InMemorySaver())
    with pytest.raises(RuntimeError, match="crash"):
        mode.invoke(graph, {"outputs": {}}, at())
    assert mode.invoke(graph, None, at())["outputs"] == {"seen": ["ValueError: first", "<then>"]}
    assert counting.taken() == {"bad": 1, "then": 1}


def test_a_failure_that_nobody_caught_reaches_the_caller_as_it_was_and_is_tried_again(mode: Mode):
    counting, failures = Counting(), ["broken"]

    def fails_once(_: dict[str, Any]) -> str:
        if failures:
            raise ValueError(failures.pop())
        return "fine"

    def body(state: dict[str, Any]) -> Body[Any]:
        return {"outputs": {"r": (yield use(counting.tool("bad", fails_once)))}}

    graph = chain(("task", body), checkpointer=InMemorySaver())
    with pytest.raises(ValueError, match="broken"):
        mode.invoke(graph, {"outputs": {}}, at())
    assert mode.invoke(graph, None, at())["outputs"] == {"r": "fine"}
    assert counting.taken() == {"bad": 2}


def test_questions_keep_their_answers_when_a_tool_that_asked_is_answered_from_the_record(mode: Mode):
    counting = Counting()

    def body(state: dict[str, Any]) -> Body[Any]:
        a = yield use(counting.tool("asker", lambda _: "tool:" + interrupt("tool?")))
        yield use(counting.tool("x"))
        b = yield Ask("one?")
        yield use(counting.tool("y"))
        c = yield Ask("two?")
        return {"outputs": {"r": [a, b, c]}}

    graph = chain(("task", body), checkpointer=InMemorySaver())
    result = mode.invoke(graph, {"outputs": {}}, at())
    asked: list[str] = []
    for answer in ("T", "1", "2"):
        question = result["__interrupt__"][0]
        asked.append(question.value)
        result = mode.invoke(graph, Command(resume={question.id: answer}), at())
    assert asked == ["tool?", "one?", "two?"]
    assert result["outputs"] == {"r": ["tool:T", "1", "2"]}
    assert counting.taken() == {"asker": 2, "x": 1, "y": 1}


@pytest.mark.parametrize("asks", ["tool", "body"])
def test_questions_get_their_answers_after_a_crash_that_came_after_an_answer(mode: Mode, asks: str):
    counting, crashes = Counting(), [1]

    def body(state: dict[str, Any]) -> Body[Any]:
        a = yield use(counting.tool("asker", lambda _: "tool:" + interrupt("0?"))) if asks == "tool" else Ask("0?")
        b = yield use(counting.tool("x"))
        if crashes:
            raise KeyboardInterrupt(crashes.pop())
        c = yield Ask("1?")
        d = yield use(counting.tool("asker", lambda _: interrupt("2?")))
        return {"outputs": {"r": [a, b, c, d]}}

    graph = chain(("task", body), checkpointer=InMemorySaver())
    first = mode.invoke(graph, {"outputs": {}}, at())["__interrupt__"][0]
    with pytest.raises(KeyboardInterrupt):
        mode.invoke(graph, Command(resume={first.id: "A"}), at())
    result = mode.invoke(graph, None, at())
    for number in (1, 2):
        question = result["__interrupt__"][0]
        assert question.value == f"{number}?"
        result = mode.invoke(graph, Command(resume={question.id: number}), at())
    assert result["outputs"] == {"r": ["tool:A" if asks == "tool" else "A", "<x>", 1, 2]}


def test_parallel_tools_that_ask_get_each_its_own_answer(mode: Mode):
    counting = Counting()

    def asks(args: dict[str, Any]) -> str:
        return f"{args['i']}=" + interrupt(f"{args['i']}?")

    def body(state: dict[str, Any]) -> Body[Any]:
        tools = [counting.tool("asker", asks, delay=0.03 * (2 - i)) for i in range(3)]
        answers = yield Together([use(tool, i=i) for i, tool in enumerate(tools)])
        last = yield Ask("end?")
        return {"outputs": {"r": [*answers, last]}}

    graph = chain(("task", body), checkpointer=InMemorySaver())
    result = mode.invoke(graph, {"outputs": {}}, at())
    while "__interrupt__" in result:
        question = result["__interrupt__"][0]
        result = mode.invoke(graph, Command(resume={question.id: f"A({question.value})"}), at())
    assert result["outputs"] == {"r": ["0=A(0?)", "1=A(1?)", "2=A(2?)", "A(end?)"]}


def test_graphs_inside_tools_keep_their_own_checkpoints_after_a_crash(mode: Mode):
    counting, crashes = Counting(), ["crash"]

    def inner(i: int) -> Any:
        def body(state: dict[str, Any]) -> Body[Any]:
            yield use(counting.tool("inner"), i=i)
            return {"outputs": {f"graph{i}": i}}

        return chain(("inside", body))

    graphs = [inner(i) for i in range(3)]

    def runs_a_graph(args: dict[str, Any]) -> list[str]:
        return sorted(graphs[args["i"]].invoke({"outputs": {}})["outputs"])

    def body(state: dict[str, Any]) -> Body[Any]:
        seen: list[Any] = []
        for i in range(3):
            seen.append((yield use(counting.tool("outer", runs_a_graph), i=i)))
            if i == 1 and crashes:
                raise RuntimeError(crashes.pop())
        return {"outputs": {"r": seen}}

    graph = chain(("task", body), checkpointer=InMemorySaver())
    with pytest.raises(RuntimeError, match="crash"):
        mode.invoke(graph, {"outputs": {}}, at())
    assert mode.invoke(graph, None, at())["outputs"] == {"r": [["graph0"], ["graph1"], ["graph2"]]}
    assert counting.taken() == {f"{name}{i}": 1 for name in ("inner", "outer") for i in range(3)}


def test_an_answer_is_used_only_for_the_identical_request(mode: Mode):
    counting, question, crashes = Counting(), ["old"], ["crash"]

    def body(state: dict[str, Any]) -> Body[Any]:
        retained = yield use(counting.tool("kept"))
        reply = yield ask(counting.model(answer=lambda messages: f"to {messages[-1]['content']}"), question[0])
        if crashes:
            raise RuntimeError(crashes.pop())
        return {"outputs": {"r": [retained, reply["content"]]}}

    graph = chain(("task", body), checkpointer=InMemorySaver())
    with pytest.raises(RuntimeError, match="crash"):
        mode.invoke(graph, {"outputs": {}}, at())
    question[0] = "new"  # the definition was edited between the crash and the resume
    assert mode.invoke(graph, None, at())["outputs"] == {"r": ["<kept>", "to new"]}
    assert counting.taken() == {"kept": 1, "model": 2}


def test_a_fork_gets_no_answers_of_the_run_it_was_forked_from(mode: Mode):
    counting = Counting()

    def body(state: dict[str, Any]) -> Body[Any]:
        reply = yield ask(counting.model(answer=lambda m: f"to {m[-1]['content']}"), state["outputs"].get("q", "?"))
        return {"outputs": {"r": reply["content"]}}

    graph = chain(("task", body), checkpointer=InMemorySaver())
    mode.invoke(graph, {"outputs": {"q": "first"}}, at())
    before = next(s for s in graph.get_state_history(at()) if s.next == ("task",))
    fork = graph.update_state(before.config, {"outputs": {"q": "second"}})
    assert mode.invoke(graph, None, fork)["outputs"]["r"] == "to second"
    assert mode.invoke(graph, None, before.config)["outputs"]["r"] == "to first"
    assert counting.taken() == {"model": 3}


def test_every_branch_ends_before_the_first_failure_is_thrown(mode: Mode):
    counting = Counting()

    def fails(_: dict[str, Any]) -> None:
        raise ValueError("no")

    def body(state: dict[str, Any]) -> Body[Any]:
        slow, bad = counting.tool("slow", delay=0.05), counting.tool("bad", fails)
        try:
            yield Together([use(bad), use(slow)])
        except EffectFailed as failure:
            return {"outputs": {"r": [str(failure), counting.calls["slow"]]}}
        raise AssertionError("the failure was not thrown")

    assert mode.invoke(chain(("task", body)), {"outputs": {}})["outputs"] == {"r": ["ValueError: no", 1]}


def test_scopes_and_branches_give_hierarchical_paths_that_survive_a_crash(mode: Mode):
    counting, crashes = Counting(), ["crash"]

    def part(name: str) -> Any:
        def body() -> Body[Any]:
            first = yield use(counting.tool(f"{name}1"))
            rest = yield Together([use(counting.tool(f"{name}2"), i=i) for i in range(2)])
            return [first, *rest]

        return body

    def body(state: dict[str, Any]) -> Body[Any]:
        both = yield Together([Scope(name="left", body=part("l")), Scope(name="right", body=part("r"))])
        if crashes:
            raise RuntimeError(crashes.pop())
        return {"outputs": {"r": both}}

    graph = chain(("task", body), checkpointer=InMemorySaver())
    with pytest.raises(RuntimeError, match="crash"):
        mode.invoke(graph, {"outputs": {}}, at())
    expected = [["<l1>", "<l20>", "<l21>"], ["<r1>", "<r20>", "<r21>"]]
    assert mode.invoke(graph, None, at())["outputs"] == {"r": expected}
    assert set(counting.taken().values()) == {1}


def test_a_call_that_must_not_be_repeated_is_reported_when_its_outcome_is_unknown(mode: Mode):
    counting = Counting()
    dies = [True]

    def pays(_: dict[str, Any]) -> str:
        if dies:
            dies.pop()
            raise KeyboardInterrupt  # the process is stopped in the middle of the call
        return "paid twice"

    def body(state: dict[str, Any]) -> Body[Any]:
        return {"outputs": {"r": (yield use(counting.tool("pay", pays, once=True)))}}

    graph = chain(("task", body), checkpointer=InMemorySaver())
    with pytest.raises(KeyboardInterrupt):
        mode.invoke(graph, {"outputs": {}}, at())
    with pytest.raises(EffectFailed, match="the tool `pay` was started before a crash"):
        mode.invoke(graph, None, at())
    assert counting.taken() == {"pay": 1}


def test_results_are_the_same_plain_data_live_and_replayed(mode: Mode):
    crashes = ["crash"]

    def body(state: dict[str, Any]) -> Body[Any]:
        value = yield Call(function=lambda: {"pair": (1, 2), "path": Path("a") / "b"}, name="f")
        assert value == {"pair": [1, 2], "path": "a/b"}
        if crashes:
            raise RuntimeError(crashes.pop())
        return {"outputs": {"r": value}}

    graph = chain(("task", body), checkpointer=InMemorySaver())
    with pytest.raises(RuntimeError, match="crash"):
        mode.invoke(graph, {"outputs": {}}, at())
    assert mode.invoke(graph, None, at())["outputs"] == {"r": {"pair": [1, 2], "path": "a/b"}}


def test_a_result_that_cannot_be_kept_is_an_error_that_names_its_source(mode: Mode):
    def body(state: dict[str, Any]) -> Body[Any]:
        yield Call(function=object, name="make_object", kind="callback")

    with pytest.raises(NotPlain, match="callback `make_object` returned an object of type `object`"):
        mode.invoke(chain(("task", body)), {"outputs": {}})


def test_notices_are_reported_each_time_and_take_no_place_in_the_paths(mode: Mode):
    counting, reported, crashes = Counting(), list[str](), ["crash"]

    def body(state: dict[str, Any]) -> Body[Any]:
        yield Notify(lambda: reported.append("begin"))
        yield use(counting.tool("tool"))
        if crashes:
            yield Notify(lambda: reported.append("crashing"))
            raise RuntimeError(crashes.pop())
        last = yield use(counting.tool("last"))
        return {"outputs": {"r": last}}

    graph = chain(("task", body), checkpointer=InMemorySaver())
    with pytest.raises(RuntimeError, match="crash"):
        mode.invoke(graph, {"outputs": {}}, at())
    mode.invoke(graph, None, at())
    assert reported == ["begin", "crashing", "begin"]
    assert counting.taken() == {"tool": 1, "last": 1}


def test_functions_may_be_sync_or_async_in_either_run(mode: Mode):
    async def doubled(x: int) -> int:
        return 2 * x

    def plus_one(x: int) -> int:
        return x + 1

    def body(state: dict[str, Any]) -> Body[Any]:
        a = yield Call(function=doubled, args=(4,), name="doubled")
        b = yield Call(function=plus_one, args=(a,), name="plus_one")
        return {"outputs": {"r": [a, b]}}

    assert mode.invoke(chain(("task", body)), {"outputs": {}})["outputs"] == {"r": [8, 9]}


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_callback_that_asked_leaves_the_later_questions_their_answers(mode: Mode, kind: str):
    def asks() -> str:
        return "callback:" + interrupt("callback?")

    async def asks_async() -> str:
        return asks()

    def body(state: dict[str, Any]) -> Body[Any]:
        a = yield Call(function=asks if kind == "sync" else asks_async, name="asks")
        b = yield Ask("body?")
        c = yield Ask("again?")
        return {"outputs": {"r": [a, b, c]}}

    graph = chain(("task", body), checkpointer=InMemorySaver())
    result = mode.invoke(graph, {"outputs": {}}, at())
    for answer in ("1", "2", "3"):
        question = result["__interrupt__"][0]
        result = mode.invoke(graph, Command(resume={question.id: answer}), at())
    assert result["outputs"] == {"r": ["callback:1", "2", "3"]}


def test_with_durability_exit_the_record_lands_with_the_checkpoint(mode: Mode):
    counting, crashes = Counting(), ["crash"]

    def body(state: dict[str, Any]) -> Body[Any]:
        yield use(counting.tool("tool"))
        if crashes:
            raise RuntimeError(crashes.pop())
        return {"outputs": {"r": 1}}

    graph = chain(("task", body), checkpointer=InMemorySaver())
    with pytest.raises(RuntimeError, match="crash"):
        mode.invoke(graph, {"outputs": {}}, at(), durability="exit")
    mode.invoke(graph, None, at(), durability="exit")
    assert counting.taken() == {"tool": 1}


def test_a_graph_that_keeps_nothing_is_refused_inside_one_that_does(mode: Mode):
    counting = Counting()

    def body(state: dict[str, Any]) -> Body[Any]:
        yield use(counting.tool("tool"))
        return {"outputs": {}}

    inner = chain(("task", body), stored=False, checkpointer=False)
    assert mode.invoke(inner, {"outputs": {}}) == {"outputs": {}}
    from core.parts import State

    with pytest.raises(CompileError, match="`checkpointer=False` runs inside a graph that has a checkpointer"):
        mode.invoke(graph_of(State, {"inner": inner}, checkpointer=InMemorySaver()), {"outputs": {}}, at())


def test_the_digest_of_a_model_call_covers_model_tools_and_every_message():
    counting = Counting()
    spec = counting.tool("t").spec
    calls = [
        ModelCall(model=counting.model(), transcript=said("a")),
        ModelCall(model=counting.model(), transcript=said("b")),
        ModelCall(model=counting.model("other"), transcript=said("a")),
        ModelCall(model=counting.model(), transcript=said("a"), tools=(spec,)),
        ModelCall(model=counting.model(), transcript=said("a"), stop=("x",)),
    ]
    assert len({call.key() for call in calls}) == len(calls)
    assert calls[0].key() == ModelCall(model=counting.model(), transcript=said("a")).key()
