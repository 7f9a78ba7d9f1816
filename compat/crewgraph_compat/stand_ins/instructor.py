"""A structure from a model's answer, asked for by hand."""

from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from crewgraph.definitions.task.conversion import Converter, get_conversion_instructions

__all__ = ["InternalInstructor"]

T = TypeVar("T", bound=BaseModel)


class InternalInstructor(Generic[T]):
    """Turns a text into a structure; CrewAI does it with the package instructor, here it is a `Converter`.

    Args:
        content: the text.
        model: the structure.
        agent: whose `function_calling_llm`, else `llm`, is asked where no `llm` is given.
        llm: who is asked.

    Raises:
        ValueError: there is neither agent nor model.
    """

    def __init__(self, content: str, model: type[T], agent: Any = None, llm: Any = None) -> None:
        self.content = content
        self.model = model
        self.agent = agent
        self.llm = llm or getattr(agent, "function_calling_llm", None) or getattr(agent, "llm", None)
        if self.llm is None:
            raise ValueError("a model has to be asked: give `llm=`, or `agent=`, whose model that is")

    def to_pydantic(self) -> T:
        """The text as an instance of the structure.

        Raises:
            ConverterError: the model did not write it.
        """
        instructions = get_conversion_instructions(self.model, self.llm)
        made: Any = Converter(
            text=self.content, llm=self.llm, model=self.model, instructions=instructions
        ).to_pydantic()
        return made

    def to_json(self) -> str:
        """The same as JSON text."""
        return self.to_pydantic().model_dump_json(indent=2)
