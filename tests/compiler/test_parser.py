"""`parse`, which reads a reply the way CrewAI does."""

import pytest

from crewgraph.compiler.agent.protocol import OutputParserError, parse
from crewgraph.definitions.agent.last_run import AgentAction, AgentFinish


def test_an_action_and_an_answer():
    assert parse('Thought: a\nAction: look\nAction Input: {"q": 1}') == AgentAction(
        "a", "look", '{"q": 1}', 'Thought: a\nAction: look\nAction Input: {"q": 1}'
    )
    assert parse("Thought: a\nFinal Answer: x") == AgentFinish("a", "x", "Thought: a\nFinal Answer: x")


def test_an_action_wins_over_text_invented_after_it():
    found = parse("Thought: t\nAction: look\nAction Input: {}\nObservation: x\nThought: n\nFinal Answer: y")
    assert isinstance(found, AgentAction)
    assert (found.tool, found.tool_input, found.result) == ("look", "{}", None)


@pytest.mark.parametrize("text", ["hello", "Thought: only", "Action:", "", "Action Input: {}"])
def test_a_text_that_is_neither_is_an_error(text: str):
    with pytest.raises(OutputParserError, match=r"holds neither `Action:` with `Action Input:`, nor") as caught:
        parse(text)
    assert caught.value.error == str(caught.value)
    assert isinstance(caught.value, ValueError)
