import asyncio
from functools import partial
from types import SimpleNamespace as Given
from typing import Any

import pytest
from crewgraph_compat.stand_ins.agents.loop import (
    aexecute_tool_and_check_finality,
    aget_llm_response,
    enforce_rpm_limit,
    execute_tool_and_check_finality,
    format_answer,
    get_llm_response,
    handle_agent_action_core,
    handle_context_length,
    handle_max_iterations_exceeded,
    handle_output_parser_exception,
    handle_unknown_error,
    has_reached_max_iterations,
    is_context_length_exceeded,
    is_inside_event_loop,
    process_llm_response,
    show_agent_logs,
    summarize_messages,
)
from crewgraph_compat.stand_ins.console.terminal import PRINTER
from crewgraph_compat.stand_ins.models.calls import (
    build_summary_prompt,
    collect_user_message_files,
    format_message_for_llm,
    message_content_text,
    messages_content_text,
)
from crewgraph_compat.stand_ins.tools.native_calls import (
    build_text_tool_calling_fallback_message,
    build_tool_calls_assistant_message,
    check_native_tool_support,
    convert_tools_to_openai_schema,
    execute_single_native_tool_call,
    extract_tool_call_info,
    format_native_tool_output_for_agent,
    get_tool_names,
    is_native_tool_calling_unsupported_error,
    is_tool_call_list,
    parse_tool_call_args,
    parse_tools,
    render_text_description_and_args,
    setup_native_tools,
    track_delegation_if_needed,
)
from crewgraph_compat.stand_ins.tools.usage import ToolResult

from crewgraph import ScriptedLLM, Task
from crewgraph.compiler.agent.protocol import OutputParserError
from crewgraph.definitions.agent.last_run import AgentAction, AgentFinish
from crewgraph.llm.errors import ContextLengthExceeded
from crewgraph.tools import tool

WISH = "Thought: x\nAction: t\nAction Input: {}"


@tool("Add Numbers")
def add(a: int, b: int = 1) -> int:
    """Adds."""
    return a + b


def increased(x: int) -> int:
    return x + 1


@tool("done", result_as_answer=True)
def done(x: str) -> str:
    """Ends it."""
    return x


def action(name: str = "t", given: str = "{}") -> AgentAction:
    text = f"Thought: th\nAction: {name}\nAction Input: {given}"
    return AgentAction(thought="th", tool=name, tool_input=given, text=text)


# ---------------------------------------------------------------- steps
@pytest.mark.parametrize("read", [format_answer, partial(process_llm_response, use_stop_words=True)])
@pytest.mark.parametrize(
    ("text", "expected"),
    [("Thought: x\nFinal Answer: y", "y"), ("garbage", "garbage"), ("Thought: only", "Thought: only")],
)
def test_a_reply_without_an_action_is_an_answer(read: Any, text: str, expected: str):
    step = read(text)
    assert isinstance(step, AgentFinish)
    assert (step.output, step.text) == (expected, text)


def test_what_a_model_makes_up_behind_its_action_is_left_out():
    step = process_llm_response(f"{WISH}\nObservation: made up", True)
    assert isinstance(step, AgentAction)
    assert (step.tool, step.tool_input, step.text) == ("t", "{}", WISH)


def test_an_action_continues_with_what_came_of_it():
    received: list[Any] = []
    step = handle_agent_action_core(action(), ToolResult("res"), [], received.append, received.append)
    assert isinstance(step, AgentAction)
    assert (step.result, step.text.splitlines()[-1]) == ("res", "Observation: res")
    assert received == [ToolResult("res"), step]
    last = handle_agent_action_core(action(), ToolResult("res", result_as_answer=True))
    assert isinstance(last, AgentFinish)
    assert last.output == "res"


def test_a_reply_that_cannot_be_read_is_reported_to_the_model(capsys: pytest.CaptureFixture[str]):
    messages: list[Any] = []
    step = handle_output_parser_exception(OutputParserError("no action"), messages, 4, printer=PRINTER)
    assert (step.tool, step.text) == ("", "no action")
    assert messages == [{"role": "user", "content": "no action"}]
    assert "no action" in capsys.readouterr().out


def test_limits_are_looked_at():
    assert has_reached_max_iterations(3, 3)
    assert not has_reached_max_iterations(2, 3)
    asked: list[int] = []
    enforce_rpm_limit(None)
    enforce_rpm_limit(lambda: asked.append(1) is None)
    assert asked == [1]


def test_a_model_is_asked_by_hand():
    messages = [{"role": "user", "content": "?"}]
    assert get_llm_response(ScriptedLLM(["hi"]), messages, [], PRINTER) == "hi"
    assert asyncio.run(aget_llm_response(ScriptedLLM(["hi"]), messages, [], PRINTER)) == "hi"
    with pytest.raises(ValueError, match="returned an empty response"):
        get_llm_response(ScriptedLLM([""]), messages)


def test_a_model_is_told_to_answer():
    messages: list[Any] = [{"role": "user", "content": "?"}]
    step = handle_max_iterations_exceeded(printer=PRINTER, messages=messages, llm=ScriptedLLM(["Final Answer: end"]))
    assert step.output == "end"
    assert "Final Answer" in messages[-1]["content"]


@pytest.mark.parametrize(
    ("error", "is_long"),
    [
        (ContextLengthExceeded("x"), True),
        (Exception("maximum context length is 10"), True),
        (Exception("context_length_exceeded"), True),
        (Exception("boom"), False),
    ],
)
def test_errors_about_the_length_are_recognised(error: Exception, is_long: bool):
    assert is_context_length_exceeded(error) is is_long


def test_a_conversation_that_is_too_long_is_condensed_in_place():
    messages: list[Any] = [{"role": "system", "content": "s"}, *({"role": "user", "content": "q"} for _ in range(4))]
    handle_context_length(True, PRINTER, messages, ScriptedLLM(["short"]), [])
    assert [one["role"] for one in messages] == ["system", "user"]
    assert messages[1]["content"].endswith("short")
    with pytest.raises(ContextLengthExceeded):
        handle_context_length(False, PRINTER, messages, ScriptedLLM([]), [])
    alone: list[Any] = [{"role": "system", "content": "s"}]
    summarize_messages(alone, ScriptedLLM([]))
    assert alone == [{"role": "system", "content": "s"}]


def test_steps_are_printed(capsys: pytest.CaptureFixture[str]):
    show_agent_logs(PRINTER, "Clerk", task_description="The tide?")
    assert capsys.readouterr().out == ""
    for step in (None, action(), AgentFinish(thought="", output="high", text="")):
        show_agent_logs(PRINTER, "Clerk", step, "The tide?", verbose=True)
    handle_unknown_error(PRINTER, ValueError("boom"))
    printed = capsys.readouterr().out
    assert all(one in printed for one in ("Agent: Clerk", "Task: The tide?", "Uses t: {}", "Answer: high", "boom"))


def test_a_loop_around_is_noticed():
    async def looked() -> bool:
        return is_inside_event_loop()

    assert not is_inside_event_loop()
    assert asyncio.run(looked())


def test_the_tool_of_an_action_is_used():
    result = execute_tool_and_check_finality(action("add numbers", '{"a": 1, "b": 2}'), [add, done])
    assert result == ToolResult("3", result_as_answer=False)
    last = asyncio.run(aexecute_tool_and_check_finality(action("done", '{"x": "end"}'), [add, done]))
    assert last == ToolResult("end", result_as_answer=True)
    wrong = execute_tool_and_check_finality(action("nope"), [add])
    assert "There is no tool `nope`" in wrong.result


# ---------------------------------------------------------------- messages
def test_messages_are_made_and_read():
    assert format_message_for_llm(" hi \n", "system") == {"role": "system", "content": " hi"}
    parts = [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]
    assert [message_content_text({"content": one}) for one in ("s", None, parts)] == ["s", "", "a b"]
    assert messages_content_text([{"content": "a"}, {"content": None}, {"content": "b"}]) == "a\nb"
    assert [one["role"] for one in build_summary_prompt([{"role": "user", "content": "a"}])] == ["system", "user"]
    said = [{"role": "user", "files": {"f": 1}}, {"role": "assistant", "files": {"g": 1}}, {"role": "user"}]
    assert collect_user_message_files(said) == {"f": 1}


# ---------------------------------------------------------------- native calls
@pytest.mark.parametrize(
    ("call", "info"),
    [
        (Given(id="1", function=Given(name="Add Numbers", arguments='{"a":1}')), ("1", "add_numbers", '{"a":1}')),
        ({"id": "2", "function": {"name": "f", "arguments": "{}"}}, ("2", "f", "{}")),
        ({"toolUseId": "3", "name": "f", "input": {"q": 1}}, ("3", "f", {"q": 1})),
        (Given(id="4", name="f", input={"z": 2}), ("4", "f", {"z": 2})),
    ],
)
def test_calls_of_every_provider_are_read(call: Any, info: Any):
    assert extract_tool_call_info(call) == info
    assert is_tool_call_list([call])


def test_a_call_without_an_id_is_given_one():
    info = extract_tool_call_info(Given(function_call=Given(name="h", args={"k": 1})))
    assert info is not None
    assert info[0].startswith("call_")
    assert info[1:] == ("h", {"k": 1})
    assert not is_tool_call_list([])
    assert not is_tool_call_list(["x"])


def test_tools_are_told_in_openais_form():
    reported, functions, named = convert_tools_to_openai_schema([add, *parse_tools([done])])
    assert [one["function"]["name"] for one in reported] == list(functions) == list(named) == ["add_numbers", "done"]
    assert reported[0]["function"]["parameters"]["required"] == ["a"]
    assert (functions["add_numbers"](a=1, b=2), functions["done"](x="y")) == (3, "y")
    assert setup_native_tools([add])[0] == reported[:1]


def test_tools_are_listed_and_described():
    assert get_tool_names([add, done]) == "add_numbers, done"
    assert "Adds." in render_text_description_and_args([add])
    assert "add: adds" in build_text_tool_calling_fallback_message("add: adds", "add")
    assert [one.name for one in parse_tools([add, add.to_structured_tool()])] == ["Add Numbers", "Add Numbers"]
    with pytest.raises(ValueError, match="is not a tool"):
        parse_tools([5])
    assert format_native_tool_output_for_agent(object(), 5) == "5"


@pytest.mark.parametrize(
    ("llm", "tools", "can"),
    [
        (Given(supports_function_calling=lambda: True), [add], True),
        (Given(supports_function_calling=lambda: True), [], False),
        (Given(supports_function_calling=lambda: False), [add], False),
        (Given(), [add], False),
    ],
)
def test_a_model_may_have_tool_calls_of_its_own(llm: Any, tools: Any, can: bool):
    assert check_native_tool_support(llm, tools) is can


def test_errors_about_tool_calls_are_recognised():
    assert is_native_tool_calling_unsupported_error(Exception("this model does not support tools"))
    assert not is_native_tool_calling_unsupported_error(Exception("boom"))


def test_calls_become_a_message():
    message, calls = build_tool_calls_assistant_message([{"id": "1", "name": "f", "input": {"a": 1}}, "x"])
    assert calls == [{"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]
    assert message == {"role": "assistant", "content": None, "tool_calls": calls}
    assert build_tool_calls_assistant_message([]) == (None, [])


def test_arguments_are_read_or_refused():
    assert parse_tool_call_args('{"a": 1}', "f", "c") == ({"a": 1}, None)
    arguments, refused = parse_tool_call_args("{bad", "f", "c")
    assert arguments is None
    assert refused is not None
    assert (refused["call_id"], refused["from_cache"]) == ("c", False)


def test_a_call_is_carried_out():
    def carried(name: str, given: str, tools: Any = (add, done), functions: Any = None) -> Any:
        call = {"id": "1", "function": {"name": name, "arguments": given}}
        return execute_single_native_tool_call(call, available_functions=functions or {}, original_tools=tools)

    made = carried("add_numbers", '{"a": 1}')
    assert (made.call_id, made.result, made.result_as_answer) == ("1", "2", False)
    assert made.tool_message == {"role": "tool", "tool_call_id": "1", "name": "add_numbers", "content": "2"}
    assert carried("done", '{"x": "end"}').result_as_answer
    assert carried("nope", "{}").result == "Tool not found"
    assert carried("own", '{"x": 2}', functions={"own": increased}).result == "3"
    assert "no JSON object" in carried("done", "{bad").result


def test_work_that_is_delegated_is_counted_by_hand():
    task = Task(description="d", expected_output="e")
    for name in ("Delegate work to coworker", "ask_question_to_coworker", "add"):
        track_delegation_if_needed(name, {"coworker": "Bob"}, task)
    assert (task.delegations, task.processed_by_agents) == (2, {"Bob"})
