import asyncio
import json
from typing import Any

import pytest
from crewgraph_compat.stand_ins.agents.executor import AgentExecutor, CrewAgentExecutor
from crewgraph_compat.stand_ins.console.prompts import ACTION_INPUT_ONLY_REGEX, ACTION_INPUT_REGEX, ACTION_REGEX
from crewgraph_compat.stand_ins.tools.usage import CacheTools, ToolUsage, ToolUsageError
from modes import Mode
from pydantic import BaseModel

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.definitions.agent.last_run import AgentAction
from crewgraph.errors import RunError
from crewgraph.events import ToolUsageErrorEvent, ToolUsageFinishedEvent, crewai_event_bus
from crewgraph.tools import tool
from crewgraph.tools.cache import CacheHandler, ToolCalling, ToolsHandler

WISH = 'Thought: sum\nAction: add\nAction Input: {"a": 1, "b": 2}'
INPUTS = {"input": "1 and 2", "tools": "add: adds", "tool_names": "add"}
calls: list[tuple[int, int]] = []


@tool("add")
def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    calls.append((a, b))
    return a + b


@tool("break")
def broken(x: str) -> str:
    """Breaks."""
    raise RuntimeError(f"no {x}")


class Sum(BaseModel):
    sum: int


@pytest.fixture(autouse=True)
def no_calls():
    calls.clear()


def made(kind: type[CrewAgentExecutor], *answers: str, **more: Any) -> CrewAgentExecutor:
    llm = ScriptedLLM(list(answers), native_tools=False)
    agent = Agent(role="Clerk", goal="Know", backstory="Careful.", llm=llm)
    task = Task(description="The sum?", expected_output="A number", agent=agent)
    crew = Crew(agents=[agent], tasks=[task])
    prompt = {"prompt": "Sum {input} with {tools} [{tool_names}]"}
    given = {"prompt": prompt, "tools": [add.to_structured_tool()], "max_iter": 5, **more}
    return kind(llm=llm, task=task, crew=crew, agent=agent, **given)


def run(executor: CrewAgentExecutor, mode: Mode, inputs: dict[str, Any] = INPUTS) -> Any:
    return asyncio.run(executor.ainvoke(inputs)) if mode.asynchronous else executor.invoke(inputs)


# ---------------------------------------------------------------- the loop
@pytest.mark.parametrize("kind", [CrewAgentExecutor, AgentExecutor])
def test_an_executor_uses_tools_until_it_has_the_answer(kind: type[CrewAgentExecutor], mode: Mode):
    steps: list[Any] = []
    executor = made(kind, WISH, "Thought: done\nFinal Answer: three", step_callback=steps.append)
    assert run(executor, mode) == {"output": "three"}
    assert calls == [(1, 2)]
    assert [type(step).__name__ for step in steps] == ["AgentAction", "AgentFinish"]
    assert executor.messages[0] == {"role": "user", "content": "Sum 1 and 2 with add: adds [add]"}
    assert executor.messages[2]["content"] == "Observation: 3"
    assert executor.iterations == 2


def test_an_executor_distinguishes_its_system_message():
    executor = made(AgentExecutor, "Final Answer: ok", prompt={"system": "S {tools}", "user": "U {input}"})
    executor.invoke(INPUTS)
    assert [(one["role"], one["content"]) for one in executor.messages[:2]] == [
        ("system", "S add: adds"),
        ("user", "U 1 and 2"),
    ]
    assert isinstance(executor, AgentExecutor)
    assert executor.state.iterations == 1


def test_an_executor_must_answer_after_its_steps():
    executor = made(CrewAgentExecutor, WISH, "Final Answer: three", max_iter=1)
    assert executor.invoke(INPUTS) == {"output": "three"}


def test_an_executor_gives_its_answer_a_structure():
    assert made(AgentExecutor, '{"sum": 3}', response_model=Sum).invoke(INPUTS) == {"output": Sum(sum=3)}


def test_an_executor_asks_a_person(monkeypatch: pytest.MonkeyPatch):
    said = iter(["in words", ""])

    def answered(_: str) -> str:
        return next(said)

    monkeypatch.setattr("builtins.input", answered)
    executor = made(CrewAgentExecutor, "Final Answer: 3", "Final Answer: three")
    assert executor.invoke({**INPUTS, "ask_for_human_input": True}) == {"output": "three"}
    assert executor.ask_for_human_input


def test_an_executor_is_made_by_position_as_older_programs_do():
    agent = Agent(role="Clerk", goal="Know", backstory="Careful.", llm=ScriptedLLM(["x"]))
    task = Task(description="d", expected_output="e", agent=agent)
    llm = ScriptedLLM(["Final Answer: ok"])
    executor = CrewAgentExecutor(llm, task, None, agent, {"prompt": "{input}"}, 3, [], "", [], "", ToolsHandler())
    assert executor.invoke({"input": "?"}) == {"output": "ok"}
    with pytest.raises(RunError, match="pass `agent=`"):
        AgentExecutor(llm=llm).invoke({"input": "?"})


# ---------------------------------------------------------------- tools
def usage(wish: str, given: str = "{}", handler: ToolsHandler | None = None) -> tuple[Any, str]:
    made = ToolUsage(handler, [add.to_structured_tool(), broken], task=None, function_calling_llm=None)
    calling = made.parse_tool_calling(f"Thought: t\nAction: {wish}\nAction Input: {given}")
    return calling, made.use(calling, wish)


@pytest.mark.parametrize(
    ("wish", "given", "arguments", "reported"),
    [
        ("add", '{"a": 2, "b": 3}', {"a": 2, "b": 3}, "5"),
        ("Add", '{"a": 5}', {"a": 5}, "6"),
        ("add", '{"a": 1,}', {"a": 1}, "2"),
        ("add", '```json\n{"a": 9}\n```', {"a": 9}, "10"),
    ],
)
def test_a_wish_becomes_a_call_and_what_the_model_is_shown(wish: str, given: str, arguments: Any, reported: str):
    calling, shown = usage(wish, given)
    assert (calling.tool_name, calling.arguments, shown) == ("add", arguments, reported)


@pytest.mark.parametrize(
    ("wish", "given", "why"),
    [("nope", "{}", "There is no tool `nope`"), ("add", '{"z": 1}', "the argument `a` is missing")],
)
def test_a_wish_that_cannot_be_is_reported(wish: str, given: str, why: str):
    calling, shown = usage(wish, given)
    assert isinstance(calling, ToolUsageError)
    assert calling.message == shown
    assert why in shown


def test_words_without_a_wish_are_reported():
    calling = ToolUsage(None, [add], None, None).parse_tool_calling("Final Answer: three")
    assert isinstance(calling, ToolUsageError)
    step = AgentAction(thought="", tool="add", tool_input='{"a": 1}', text="")
    calling = ToolUsage(None, [add], None, None, action=step).parse_tool_calling("Final Answer: three")
    assert calling == ToolCalling(tool_name="add", arguments={"a": 1})


def test_a_tool_that_fails_is_shown_to_the_model():
    assert usage("break", '{"x": "tide"}')[1] == "`break` failed: RuntimeError: no tide"


def test_results_are_kept_where_a_handler_has_a_cache():
    handler = ToolsHandler(cache=CacheHandler())
    assert [usage("add", '{"a": 2}', handler)[1] for _ in range(2)] == ["3", "3"]
    assert calls == [(2, 1)]
    assert handler.last_used_tool == ToolCalling(tool_name="add", arguments={"a": 2})


def test_a_tool_is_used_on_an_event_loop(mode: Mode):
    made = ToolUsage(None, [add], None, None)
    calling = ToolCalling(tool_name="add", arguments={"a": 2})
    shown = asyncio.run(made.ause(calling, "")) if mode.asynchronous else made.use(calling, "")
    assert shown == "3"


def test_a_handler_keeps_what_it_is_told():
    handler = ToolsHandler(cache=CacheHandler())
    handler.on_tool_use(ToolCalling(tool_name="s", arguments={"a": 1}), "out")
    handler.on_tool_use(ToolCalling(tool_name="t", arguments=None), "not kept", should_cache=False)
    assert handler.cache is not None
    assert (handler.cache.read("s", json.dumps({"a": 1})), handler.cache.read("t", "")) == ("out", None)
    assert handler.last_used_tool is not None
    assert handler.last_used_tool.tool_name == "t"


def test_a_tool_gives_what_is_kept():
    cache = CacheHandler()
    cache.add("search", '{"q": 1}', "tide")
    tools = CacheTools(cache_handler=cache)
    assert tools.tool().name == "Hit Cache"
    assert tools.hit_cache('tool:search|input:{"q": 1}') == "tide"
    assert tools.hit_cache('tool:search|input:{"q": 2}') is None
    with pytest.raises(ValueError, match="not a cache key"):
        tools.hit_cache("tide")


def test_listeners_are_told_by_hand():
    made, calling = ToolUsage(None, [add], None, None), ToolCalling(tool_name="add", arguments={"a": 2})
    received: list[Any] = []
    with crewai_event_bus.scoped_handlers():
        crewai_event_bus.register_handler(ToolUsageErrorEvent, lambda _, event: received.append(event.error))
        crewai_event_bus.register_handler(ToolUsageFinishedEvent, lambda _, event: received.append(event.output))
        made.on_tool_error(add, calling, ValueError("no"))
        made.on_tool_use_finished(add, calling, False, 0.0, "3")
        crewai_event_bus.flush()
    assert sorted(received) == ["3", "no"]


# ---------------------------------------------------------------- words
@pytest.mark.parametrize(
    ("text", "name", "given"),
    [
        ('Thought: x\nAction: search\nAction Input: {"a":1}', "search", '{"a":1}'),
        ("Action 1: search\nAction 1 Input 1: foo bar", "search", "foo bar"),
        ("Action : a b\n Action Input : b\nc", "a b", "b\nc"),
    ],
)
def test_patterns_find_actions_and_their_inputs(text: str, name: str, given: str):
    found, only = ACTION_INPUT_REGEX.search(text), ACTION_INPUT_ONLY_REGEX.search(text)
    assert found is not None
    assert found.groups() == (name, given)
    assert only is not None
    assert only[1] == given
    assert ACTION_REGEX.search(text)


@pytest.mark.parametrize("text", ["action: a\n action input: b", "Final Answer: x"])
def test_patterns_find_nothing_where_there_is_no_action(text: str):
    assert not ACTION_REGEX.search(text)


def test_an_executor_calls_its_own_hooks_and_tells_what_came_of_its_call():
    asked: list[str] = []
    executor = made(AgentExecutor, "the depth")
    assert isinstance(executor, AgentExecutor)

    def before(context: Any) -> None:
        asked.append(str(context.messages[-1]["content"]))

    executor.before_llm_call_hooks.append(before)

    def after(context: Any) -> str:
        return f"{context.response} is 3"

    executor.after_llm_call_hooks.append(after)
    assert not executor.state.is_finished and executor.use_stop_words
    assert executor.invoke(INPUTS) == {"output": "the depth is 3"}
    state = executor.state
    assert len(asked) == 1 and state.is_finished and state.current_answer is not None
    assert (state.iterations, state.use_native_tools, state.todos.items, state.plan) == (1, False, [], None)


def test_a_use_of_a_tool_gives_what_the_tool_gave_before_it_became_a_text():
    usage = ToolUsage(None, [add], None, None)
    assert usage.get_last_raw_result("nothing") == "nothing"
    calling = usage.parse_tool_calling(WISH)
    assert usage.use(calling, WISH) == "3" and usage.get_last_raw_result("nothing") == 3
