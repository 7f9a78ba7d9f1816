"""The workload of every peer: the same texts and answers, no latency."""

__all__ = [
    "ANSWER",
    "BACKSTORY",
    "CALLS",
    "EXPECTED",
    "GOAL",
    "INPUTS",
    "ROLE",
    "SECONDS",
    "Zero",
    "description",
    "repeats",
]

ROLE, GOAL = "Researcher", "Find what matters"
BACKSTORY = "You have read a great deal and write briefly."
EXPECTED = "One sentence"
ANSWER = "Final Answer: The matter is settled, as far as anybody knows."

CALLS = 50
"""How often the tool is called before the answer."""


SECONDS = 0.2
"""How long the slow model takes."""

INPUTS = [{"matter": f"matter {number}"} for number in range(100)]
"""The inputs of concurrent kickoffs of one crew."""


def description(number: int) -> str:
    return f"Look into matter {number} and say what is known"


def repeats(tasks: int) -> int:
    """How often a crew with a number of tasks is run, so that its time exceeds the resolution of the clock."""
    return max(1, 200 // tasks)


class Zero:
    """A model in two methods: asked for `CALLS` numbers by the text protocol, or answering at once."""

    def __init__(self, calls: int = 0) -> None:
        self.calls = calls
        self._asked = 0

    def answer(self) -> str:
        if self._asked == self.calls:
            self._asked = 0
            return ANSWER
        self._asked += 1
        return f'Thought: one more\nAction: probe\nAction Input: {{"number": {self._asked}}}'
