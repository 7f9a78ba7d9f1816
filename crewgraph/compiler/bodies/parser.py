"""CrewAI's way to read one reply of the text protocol."""

import json

from crewgraph.compiler.bodies.protocol import Actions, Answer, read
from crewgraph.definitions.step import AgentAction, AgentFinish
from crewgraph.errors import OutputInvalid

__all__ = ["FINAL_ANSWER_ACTION", "OutputParserError", "parse"]

FINAL_ANSWER_ACTION = "Final Answer:"
"""What an answer stands behind."""


class OutputParserError(OutputInvalid):
    """A reply is neither an action nor an answer."""

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error
        """What is wrong with it."""


def parse(text: str) -> AgentAction | AgentFinish:
    """What a reply wants: its first action, or its answer.

    Raises:
        OutputParserError: it wants neither.
    """
    wanted = read({"content": text, "tool_calls": [], "usage": None, "extra": {}}, tools_offered=True)
    if isinstance(wanted, Actions):
        first = wanted.actions[0]
        given = first.args if isinstance(first.args, str) else json.dumps(first.args, ensure_ascii=False)
        return AgentAction(thought=wanted.thought, tool=first.tool, tool_input=given, text=wanted.text)
    if isinstance(wanted, Answer) and wanted.output != text.strip():
        return AgentFinish(thought=wanted.thought, output=wanted.output, text=wanted.text)
    raise OutputParserError(
        f"the reply {text[:200]!r} holds neither `Action:` with `Action Input:`, nor `Final Answer:`. Ask the model to write "
        "one of them."
    )
