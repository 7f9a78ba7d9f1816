"""An entry of a configuration, which knows where it was written."""

from collections.abc import Mapping
from typing import Any

from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

__all__ = ["Section"]


class Section(dict[str, Any]):
    """The values of one agent or task, as a YAML file or a dict holds them.

    Given as `config=`, it puts its place in front of what is said of its values.
    """

    def __init__(
        self, values: Mapping[str, Any], *, name: str, place: str, lines: Mapping[str, int] | None = None
    ) -> None:
        """Keep values with their place.

        Args:
            values: the values by key.
            name: what the entry is called.
            place: where it stands; a file without a line.
            lines: the line of each key in that file, from 1, and of the entry itself under "".
        """
        super().__init__(values)
        self.name = name
        self.place = place
        self.lines = dict(lines or {})

    def where(self, key: str = "") -> str:
        """The place of a key, or of the whole entry: "config/agents.yaml:12"."""
        line = self.lines.get(key) or self.lines.get("")
        return f"{self.place}:{line}" if line else self.place

    def told(self, error: ValidationError, given: Mapping[str, Any]) -> ValidationError:
        """What is wrong with a definition, each fault of this entry's with its place in front.

        Args:
            error: the faults.
            given: the keywords that were given beside this entry, which win over it.
        """
        return ValidationError.from_exception_data(error.title, [self._placed(one, given) for one in error.errors()])

    def _placed(self, fault: Any, given: Mapping[str, Any]) -> InitErrorDetails:
        key = str(fault["loc"][0]) if fault["loc"] else ""
        text: str = fault["msg"]
        if given.get(key) is None:
            about = f"`{key}` of `{self.name}`" if key else f"`{self.name}`"
            text = f"{self.where(key)}: {about}: {text}"
        kind = PydanticCustomError(fault["type"], "{text}", {**fault.get("ctx", {}), "text": text})
        return InitErrorDetails(type=kind, loc=fault["loc"], input=fault["input"])
