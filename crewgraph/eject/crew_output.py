"""The output of a crew, as the functions of users take it: a small dataclass with what they look at."""

from typing import TYPE_CHECKING

from crewgraph.eject.parts import Parts

if TYPE_CHECKING:
    from crewgraph.eject.crew import CrewProgram

__all__ = ["CrewOutputs"]

_RANK = 2
_FIELDS = {
    "pydantic": ("Any", "None"),
    "json_dict": ("Any", "None"),
    "tasks_output": ("Sequence[TaskOutput]", "()"),
}


class CrewOutputs:
    """Writes `CrewOutput`, where functions take one.

    Args:
        parts: the program, and those who write parts of it.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def made(self, program: "CrewProgram") -> str:
        """The expression for the output of a crew, out of `state`; the class is written with the first."""
        looked_at = self._looked_at()
        if self._parts.sheet.helper("CrewOutput") is None:
            self._write(looked_at)
        words = [f"raw={program.result()}"]
        data, task = program.last.data, program.last.assignment.task
        held = "json_dict" if task.output_json else "pydantic"
        if data is not None and held in looked_at:
            words.append(f'{held}=state["{data}"]')
        if "tasks_output" in looked_at:
            listed = ", ".join(one.output_in("state") for one in program.tasks)
            words.append(f"tasks_output=[{listed}]")
        return f"CrewOutput({', '.join(words)})"

    def _looked_at(self) -> list[str]:
        sources = self._parts.lifter.sources
        if any(".token_usage" in text for text in sources):
            why = "count it with LangChain's `UsageMetadataCallbackHandler`"
            self._parts.refusals.add("`token_usage`, which a function looks at", why)
        return [field for field in _FIELDS if any(f".{field}" in text for text in sources)]

    def _write(self, looked_at: list[str]) -> None:
        sheet, sources = self._parts.sheet, self._parts.lifter.sources
        sheet.names.take("CrewOutput")
        sheet.name_helper("CrewOutput", "CrewOutput")
        sheet.use("dataclasses", "dataclass")
        if {"pydantic", "json_dict"} & set(looked_at):
            sheet.use("typing", "Any")
        if "tasks_output" in looked_at:
            sheet.use("collections.abc", "Sequence")
            self._parts.outputs.name()
        listed = "".join(f"    {one}: {_FIELDS[one][0]} = {_FIELDS[one][1]}\n" for one in looked_at)
        # Its fields may be set by functions that are given it.
        frozen = "" if any(".raw = " in text or ".raw += " in text for text in sources) else "(frozen=True)"
        sheet.add(
            f'@dataclass{frozen}\nclass CrewOutput:\n    """What a crew gave."""\n\n    raw: str\n'
            f"{listed}\n    def __str__(self) -> str:\n        return self.raw",
            _RANK,
        )
