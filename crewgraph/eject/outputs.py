"""The output of a task, as the functions of users take it: a small dataclass with what they look at."""

import re
from collections.abc import Mapping, Sequence

from crewgraph.eject.sheet import Sheet

__all__ = ["Outputs"]

_RANK = 1
_FIELDS = {
    "pydantic": ("Any", "None"),
    "json_dict": ("dict[str, Any] | None", "None"),
    "description": ("str", '""'),
    "expected_output": ("str", '""'),
    "name": ("str", '""'),
    "agent": ("str", '""'),
}
_TEXT = re.compile(r"\bstr\(|\bprint\(|\{\w+\}")


class Outputs:
    """Writes `TaskOutput`, where functions of the user's take one.

    Args:
        sheet: the program.
    """

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._looked_at: list[str] = []
        self._shown = False
        self.is_used = False

    def name(self) -> str:
        """What the class is called; it is written at the end."""
        self.is_used = True
        called = self._sheet.helper("TaskOutput")
        if called is None:
            called = "TaskOutput"
            self._sheet.names.take(called)
            self._sheet.name_helper(called, called)
        return called

    def look(self, sources: Sequence[str]) -> None:
        """Note what functions look at."""
        found = {field for field in _FIELDS if any(f".{field}" in text for text in sources)}
        self._looked_at = [field for field in _FIELDS if field in found or field in self._looked_at]
        self._shown = any(_TEXT.search(text) for text in sources if not text.startswith("@tool"))

    def keep(self, field: str) -> None:
        """Note a field that is needed whoever looks at it."""
        self._looked_at = [one for one in _FIELDS if one == field or one in self._looked_at]

    def made(self, given: Mapping[str, str]) -> str:
        """The expression for an output.

        Args:
            given: expressions by field; those that nobody looks at are left out.
        """
        kept = {name: one for name, one in given.items() if name == "raw" or name in self._looked_at}
        return f"{self.name()}({', '.join(f'{name}={one}' for name, one in kept.items())})"

    def write(self) -> None:
        """Write the class."""
        self._sheet.use("dataclasses", "dataclass")
        fields = [f"    {name}: {_FIELDS[name][0]} = {_FIELDS[name][1]}" for name in self._looked_at]
        if any("Any" in line for line in fields):
            self._sheet.use("typing", "Any")
        text = "\n    def __str__(self) -> str:\n        return self.raw\n" if self._shown else ""
        self._sheet.add(
            "@dataclass(frozen=True)\nclass TaskOutput:\n"
            '    """What a task gave, for the functions that look at it."""\n\n'
            "    raw: str\n" + "\n".join(fields) + text,
            _RANK,
        )
