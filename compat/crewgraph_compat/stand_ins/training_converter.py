"""A converter that asks for one field after the other, where a model does not write all of them at once."""

import re
from typing import Any

from pydantic import BaseModel, ValidationError

from crewgraph.definitions.task.conversion import Converter
from crewgraph.errors import ConverterError
from crewgraph.llm.resolve import as_llm

__all__ = ["TrainingConverter"]

_ASKED = """\
Take one thing out of this text: {meaning} (`{name}`). Reply with that alone, a list with one entry on each line.

{text}"""
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


class TrainingConverter(Converter):
    """Converts what is said in a training: in one request, else in one for each field."""

    def to_pydantic(self, current_attempt: int = 1) -> BaseModel:
        """The text as an instance of the model.

        Raises:
            ConverterError: neither way gave what fits.
        """
        try:
            return super().to_pydantic(current_attempt)
        except ConverterError as whole:
            fields = {name: self._field(name) for name in self.model.model_fields}
            try:
                return self.model.model_validate(fields)
            except ValidationError as error:
                raise ConverterError(f"{whole} Asked for each field by itself, it gave: {error}") from error

    def _field(self, name: str) -> Any:
        field = self.model.model_fields[name]
        asked = _ASKED.format(name=name, meaning=field.description or name, text=self.text)
        answer = str(as_llm(self.llm).call([{"role": "user", "content": asked}])).strip()
        kind: Any = field.annotation
        if kind in (int, float):
            found = _NUMBER.search(answer)
            return found[0] if found else answer
        if kind == list[str]:
            return [text for line in answer.splitlines() if (text := _BULLET.sub("", line).strip())]
        return answer
