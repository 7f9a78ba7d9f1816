"""Request structured model output directly."""

import re
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from crewgraph.core.loops.bridge import call
from crewgraph.definitions.task.conversion import Converter, get_conversion_instructions
from crewgraph.errors import ConverterError
from crewgraph.llm.resolve import as_llm

__all__ = ["InternalInstructor", "TrainingConverter"]


T = TypeVar("T", bound=BaseModel)


class InternalInstructor(Generic[T]):
    """Convert a text to a structure, as CrewAI does with the instructor package; here a `Converter` does it.

    Args:
        content: the text.
        model: the structure.
        agent: provides the model, `function_calling_llm` or else `llm`, if no `llm` is passed.
        llm: the model.

    Raises:
        ValueError: There is neither an agent nor a model.
    """

    def __init__(self, content: str, model: type[T], agent: Any = None, llm: Any = None) -> None:
        self.content = content
        self.model = model
        self.agent = agent
        self.llm = llm or getattr(agent, "function_calling_llm", None) or getattr(agent, "llm", None)
        if self.llm is None:
            raise ValueError("a model is needed: pass `llm=`, or `agent=` to use its model")

    def to_pydantic(self) -> T:
        """Return the text as an instance of the model.

        Raises:
            ConverterError: The model's reply does not fit.
        """
        instructions = get_conversion_instructions(self.model, self.llm)
        converter: Any = Converter(
            text=self.content, llm=self.llm, model=self.model, instructions=instructions
        ).to_pydantic()
        return converter

    def to_json(self) -> str:
        """Return the text as JSON."""
        return self.to_pydantic().model_dump_json(indent=2)


_REQUEST = """\
Take one thing out of this text: {meaning} (`{name}`). Reply with that alone, a list with one entry on each line.

{text}"""
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


class TrainingConverter(Converter):
    """Convert training feedback in one request, or else in one request per field."""

    def to_pydantic(self, current_attempt: int = 1) -> BaseModel:
        """Return the text as an instance of the model.

        Raises:
            ConverterError: Neither way gave a fitting result.
        """
        try:
            return super().to_pydantic(current_attempt)
        except ConverterError as first_error:
            fields = {name: self._field(name) for name in self.model.model_fields}
            try:
                return self.model.model_validate(fields)
            except ValidationError as error:
                raise ConverterError(
                    f"{first_error} Asked for each field separately, the model gave: {error}"
                ) from error

    def _field(self, name: str) -> Any:
        field = self.model.model_fields[name]
        prompt = _REQUEST.format(name=name, meaning=field.description or name, text=self.text)
        answer = str(call(as_llm(self.llm).call, [{"role": "user", "content": prompt}])).strip()
        kind: Any = field.annotation
        if kind in (int, float):
            result = _NUMBER.search(answer)
            return result[0] if result else answer
        if kind == list[str]:
            return [text for line in answer.splitlines() if (text := _BULLET.sub("", line).strip())]
        return answer
