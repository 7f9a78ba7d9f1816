"""Parsing replies, in whatever form models write them."""

import json
from typing import Any

import pytest
from combinations import of
from hypothesis import given, settings
from hypothesis import strategies as st

from crewgraph.compiler.agent.protocol import Action, Actions, FinalAnswer, Malformed, final_text, parse_reply
from crewgraph.core.messages import Content, Reply, ToolRequest


def reply(content: Content, *calls: ToolRequest) -> Reply:
    return {"content": content, "tool_calls": list(calls), "usage": None, "extra": {}}


def call(name: str = "search", args: dict[str, Any] | str = "", number: str = "1") -> ToolRequest:
    return {"id": number, "name": name, "args": args}


def parsed(text: str, *, tools: bool = True) -> Actions | FinalAnswer | Malformed:
    return parse_reply(reply(text), tools_offered=tools)


def actions(text: str) -> list[tuple[str, dict[str, Any] | str]]:
    found = parsed(text)
    assert isinstance(found, Actions), found
    return [(one.tool, one.args) for one in found.actions]


def answer(text: str, *, tools: bool = True) -> str:
    found = parsed(text, tools=tools)
    assert isinstance(found, FinalAnswer), found
    return found.output


def test_native_calls_are_taken_in_order_with_their_ids():
    found = parse_reply(reply("Let me look.", call("a", {"q": 1}, "x"), call("b", "no json", "y")), tools_offered=True)
    assert found == Actions(
        actions=(Action(tool="a", args={"q": 1}, call_id="x"), Action(tool="b", args="no json", call_id="y")),
        thought="Let me look.",
        text="Let me look.",
    )


def test_native_calls_win_over_whatever_the_text_says():
    found = parse_reply(reply("Final Answer: 4", call()), tools_offered=True)
    assert isinstance(found, Actions)
    assert found.actions[0].tool == "search"


def test_a_thought_an_action_and_its_input():
    found = parsed('Thought: I look it up.\nAction: search\nAction Input: {"q": "rain"}')
    assert found == Actions(
        actions=(Action(tool="search", args='{"q": "rain"}'),),
        thought="I look it up.",
        text='Thought: I look it up.\nAction: search\nAction Input: {"q": "rain"}',
    )


@pytest.mark.parametrize(
    "text",
    [
        '**Thought:** why\n**Action:** search\n**Action Input:** {"q": 1}',
        '**Action**: search\n**Action Input**: {"q": 1}',
        '> Action: search\n> Action Input: {"q": 1}',
        '### Action: search\n### Action Input: {"q": 1}',
        '  action: `search`\n  action input: {"q": 1}',
        'ACTION: "search"\nACTION INPUT: {"q": 1}',
        'Action: [search]\nAction Input: {"q": 1}',
        'Action : search  \nAction Input : {"q": 1}',
        'Action: search\r\nAction Input: {"q": 1}\r\n',
        'Action:search\nAction Input:{"q": 1}',
        'Action:\tsearch\nAction\tInput:\t{"q": 1}',
        'Action:\u3000search\nAction Input: {"q": 1}',
        'Action\uff1asearch\nAction Input\uff1a{"q": 1}',
        'Action: search\nAction Input: ```json\n{"q": 1}\n```',
        'Action: search\nAction Input:\n```\n{"q": 1}\n```',
        'Thought: I search. Action: search\nAction Input: {"q": 1}',
        'Thought: I search. Action: search Action Input: {"q": 1}',
        'Thought: I search.\nAction: search Action Input: {"q": 1}',
        'Thought: I search.\n**Action:** search **Action Input:** {"q": 1}',
        'Thought: I search.\n\nAction:\nsearch\n\nAction Input:\n{"q": 1}',
    ],
)
def test_the_ways_models_dress_an_action(text: str):
    assert actions(text) == [("search", '{"q": 1}')]


@pytest.mark.parametrize(
    "text",
    [
        "Final Answer: 42",
        "**Final Answer:** 42",
        "**Final Answer**: 42",
        "## Final Answer: 42",
        "> Final Answer:\n42",
        "final answer: 42",
        "Thought: done\nFinal Answer:   42  \n",
        "Thought: done\r\nFinal Answer: 42\r\n",
        "Final Answer\uff1a42",
    ],
)
def test_the_ways_models_dress_an_answer(text: str):
    assert answer(text) == "42"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Thought: I know it. Final Answer: 42", "42"),
        ("I now know the final answer Final Answer: 42\nand more", "42\nand more"),
        ("My Final Answer: 42", "42"),
    ],
)
def test_an_answer_is_found_behind_other_words_of_its_line(text: str, expected: str):
    assert answer(text) == answer(text, tools=False) == expected
    natively = parse_reply(reply(text), tools_offered=True, natively=True)
    assert isinstance(natively, FinalAnswer)
    assert natively.output == text


def test_an_action_keeps_an_input_that_mentions_an_answer():
    assert actions('Action: search\nAction Input: {"q": "Final Answer: no"}') == [
        ("search", '{"q": "Final Answer: no"}')
    ]


def test_input_over_several_lines_stays_whole():
    assert actions('Action: write\nAction Input: {\n  "text": "a",\n  "more": [1,\n 2]\n}') == [
        ("write", '{\n  "text": "a",\n  "more": [1,\n 2]\n}')
    ]


def test_text_invented_after_a_request_is_cut_off():
    found = parsed(
        'Thought: look\nAction: search\nAction Input: {"q": 1}\nObservation: it rains\nThought: so\nFinal Answer: rain'
    )
    assert found == Actions(
        actions=(Action(tool="search", args='{"q": 1}'),),
        thought="look",
        text='Thought: look\nAction: search\nAction Input: {"q": 1}',
    )


def test_an_answer_after_an_action_waits_for_the_actions_result():
    assert actions('Action: search\nAction Input: {"q": 1}\nFinal Answer: made up') == [("search", '{"q": 1}')]


def test_an_answer_before_an_action_is_the_answer():
    assert answer("Final Answer: 42\nAction: search\nAction Input: {}") == "42\nAction: search\nAction Input: {}"


@pytest.mark.parametrize(
    "text",
    [
        "my final answer: is a phrase here", "Actions: speak louder than words", "Action items: none",
        "An Action: plan", "The observation: it rains", "Call to action: vote", "| Action: | Input |",
    ],
)  # fmt: skip
def test_text_that_merely_holds_the_words_is_an_answer(text: str):
    assert answer(text) == text


def test_without_tools_every_text_is_an_answer():
    text = "Thought: a\nAction: search\nAction Input: {}"
    assert answer(text, tools=False) == text
    assert answer("Thought: I know.\nFinal Answer: 42", tools=False) == "42"


def test_a_thought_alone_is_malformed_where_tools_wait_to_be_used():
    assert parsed("Thought: I should search.") == Malformed(error="thought_only", text="Thought: I should search.")
    assert answer("Thought: I should search.", tools=False) == "Thought: I should search."


@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_an_empty_reply_is_malformed(text: str):
    assert parsed(text) == Malformed(error="empty_reply", text=text)
    assert parsed(text, tools=False) == Malformed(error="empty_reply", text=text)


def test_code_in_an_answer_stays_code():
    code = "```python\nprint('Action: none')\n```"
    assert answer(f"Final Answer: {code}") == code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Thought: x\nFinal Answer: **1. Tides** rise", "**1. Tides** rise"),
        ("**Final Answer:** **1. Tides** rise", "**1. Tides** rise"),
        ("**Final Answer: 42**", "42"),
        ("**Final Answer: the __all__ of 3 modules**", "the __all__ of 3 modules"),
        ("_**Final Answer:**_ 42", "42"),
        ("* Final Answer: *42*", "*42*"),
        ("Final Answer:** 42", "** 42"),
        ("Final Answer: __init__.py", "__init__.py"),
        ("Final Answer: _x_", "_x_"),
        ("Final Answer: 42\n```", "42"),
        ("Final Answer: 42```", "42"),
        ("```\nThought: I know.\nFinal Answer: 42\n```", "42"),
        ("Final Answer: ```json\n{}\n```", "```json\n{}\n```"),
        ("Final Answer: ```python\nprint(1)```", "```python\nprint(1)```"),
        ("Final Answer: Write ``` to begin:\n```\ncode\n```", "Write ``` to begin:\n```\ncode\n```"),
        ("Final Answer: a\n````md\n```\n````\n```", "a\n````md\n```\n````"),
        ("Final Answer: a\n~~~\n```\n~~~\nb", "a\n~~~\n```\n~~~\nb"),
    ],
)
def test_markup_of_the_label_goes_and_that_of_the_answer_stays(text: str, expected: str):
    assert answer(text) == expected


PROSE = st.text("ab .,-1é", min_size=1, max_size=12).map(lambda text: f"w{text.strip()}")
MARKED: st.SearchStrategy[str] = st.builds(
    str.format,
    st.sampled_from(
        ["**{}**", "*{}*", "__{}__", "_{}_", "`{}`", "~~{}~~", "[{}](https://a.b/_c_)", "{}", '"{}"', "<b>{}</b>"]
    ),
    PROSE,
)
LINE = st.lists(MARKED, min_size=1, max_size=3).map(" ".join)


def fenced(fence: str, info: str, lines: list[str]) -> str:
    return "\n".join([f"{fence}{info}", *lines, fence])


CODE = st.builds(
    fenced,
    st.sampled_from(["```", "````", "~~~"]),
    st.sampled_from(["", "python", "json", "md title='x'"]),
    st.lists(
        st.sampled_from(["def __init__(self): ...", '{"a": ["**", "_"]}', "# no heading", "", "x = '`'"]), max_size=3
    ),
)
BLOCKS = st.one_of(
    LINE,
    CODE,
    st.builds("{} {}".format, st.sampled_from(["#", "##", "-", "*", "1.", ">", "- [ ]", "| a |"]), LINE),
    st.dictionaries(PROSE, PROSE | st.integers() | st.lists(MARKED, max_size=2), max_size=2).map(json.dumps),
    st.sampled_from(
        ["---", "***", "___", "| a | b |\n|---|---|\n| *1* | `2` |", "__init__.py", "> ## quoted", "Thoughts"]
    ),
)
LABELS = st.sampled_from(
    [
        "Final Answer: {}",
        "Final Answer:\n{}",
        "Thought: I know.\n\nFinal Answer: {}",
        "**Thought:** I *know*.\n**Final Answer:** {}",
        "**Final Answer**: {}",
        "*Final Answer:* {}",
        "### Final Answer:\n{}",
        "> Final Answer: {}",
        "final answer :\r\n{}",
        "```\nFinal Answer: {}\n```",
    ]
)


@settings(max_examples=of(200, 2000))
@given(LABELS, st.lists(BLOCKS, min_size=1, max_size=4).map("\n\n".join), st.booleans())
def test_an_answer_is_what_the_model_wrote(label: str, written: str, tools: bool):
    assert answer(label.format(written), tools=tools) == written.strip()


PIECES = st.sampled_from(
    [
        "Thought:",
        "Action:",
        "Action Input:",
        "Observation:",
        "Final Answer:",
        "\n",
        " ",
        "**",
        "`",
        "```json",
        '{"a": 1}',
        "x",
        "[",
        "2",
        "\r\n",
        "\0",
    ]  # fmt: skip
)


@settings(max_examples=of(60, 300))
@given(
    text=st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=30).map("".join)),
    calls=st.lists(st.builds(call, st.text(max_size=5), st.one_of(st.text(max_size=5), st.just({"a": 1}))), max_size=2),
    tools=st.booleans(),
)
def test_no_reply_makes_the_parser_raise(text: str, calls: list[ToolRequest], tools: bool):
    found = parse_reply(reply(text, *calls), tools_offered=tools)
    final_text(reply(text, *calls))
    if calls:
        assert isinstance(found, Actions)
        assert len(found.actions) == len(calls)
    elif isinstance(found, FinalAnswer):
        assert found.output in text
        assert found.output == found.output.strip()
    elif isinstance(found, Actions):
        assert tools
        assert all(action.tool and action.call_id is None for action in found.actions)
        assert text.startswith(found.text)
