"""The words of the text protocol, as patterns and as what a model is told."""

import re
from typing import Final

__all__ = [
    "ACTION_INPUT_ONLY_REGEX",
    "ACTION_INPUT_REGEX",
    "ACTION_REGEX",
    "FINAL_ANSWER_AND_PARSABLE_ACTION_ERROR_MESSAGE",
    "MISSING_ACTION_AFTER_THOUGHT_ERROR_MESSAGE",
    "MISSING_ACTION_INPUT_AFTER_ACTION_ERROR_MESSAGE",
    "UNABLE_TO_REPAIR_JSON_RESULTS",
]

_ACTION: Final = r"Action\s*\d*\s*:"
_INPUT: Final = r"Action\s*\d*\s*Input\s*\d*\s*:"

ACTION_REGEX: Final = re.compile(_ACTION + r"[\s]*(.*?)", re.DOTALL)
"""Finds an action."""

ACTION_INPUT_REGEX: Final = re.compile(_ACTION + r"[\s]*(.*?)[\s]*" + _INPUT + r"[\s]*(.*)", re.DOTALL)
"""Finds an action's name and its input."""

ACTION_INPUT_ONLY_REGEX: Final = re.compile(r"\s*" + _INPUT + r"\s*(.*)", re.DOTALL)
"""Finds an action's input."""

UNABLE_TO_REPAIR_JSON_RESULTS: Final = ['""', "{}"]
"""What a repair of JSON gives where there was none."""

MISSING_ACTION_AFTER_THOUGHT_ERROR_MESSAGE: Final = (
    "The reply has no `Action:` after its `Thought:`. Write the name of a tool behind `Action:`, or the result behind "
    "`Final Answer:`."
)
"""Told where an action is missing."""

MISSING_ACTION_INPUT_AFTER_ACTION_ERROR_MESSAGE: Final = (
    "The reply has no `Action Input:` after its `Action:`. Write the arguments behind it, as one JSON object."
)
"""Told where the input of an action is missing."""

FINAL_ANSWER_AND_PARSABLE_ACTION_ERROR_MESSAGE: Final = (
    "The reply has an action and a `Final Answer:`. Write one of both: use the tool, or finish."
)
"""Told where a reply wants both."""
