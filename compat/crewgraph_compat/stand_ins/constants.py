"""Plain values that CrewAI's programs read."""

from typing import Final

__all__ = [
    "KNOWLEDGE_DIRECTORY",
    "MAX_FILE_NAME_LENGTH",
    "NOT_SPECIFIED",
    "TRAINED_AGENTS_DATA_FILE",
    "TRAINING_DATA_FILE",
    "Unspecified",
]



class Unspecified:
    """What stands where nobody gave anything, and None would mean something; there is one."""

    def __repr__(self) -> str:
        return "NOT_SPECIFIED"


NOT_SPECIFIED: Final = Unspecified()
"""Says that nothing was given."""

TRAINING_DATA_FILE: Final = "training_data.pkl"
"""Where CrewAI keeps what people said in a training; here the name stands for a .json file."""

TRAINED_AGENTS_DATA_FILE: Final = "trained_agents_data.pkl"
"""Where CrewAI keeps what agents learned; here the name stands for a .json file."""


KNOWLEDGE_DIRECTORY: Final = "knowledge"
"""The folder that files of knowledge are looked for in."""

MAX_FILE_NAME_LENGTH: Final = 255
"""How long the name of a file may be, in characters."""
