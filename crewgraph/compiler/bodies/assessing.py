"""A model looks at a result: how good it is, what is to be done better, what it tells of whom."""

from pydantic import BaseModel, Field

from crewgraph.compiler.bodies.formed import formed
from crewgraph.core.effects import Body, EffectFailed
from crewgraph.core.messages import Message
from crewgraph.core.protocols import Model
from crewgraph.llm.usage import UsageLedger
from crewgraph.memory.items import EntityMemoryItem, entities_in
from crewgraph.prompts.book import Book
from crewgraph.schema import described

__all__ = ["Assessment", "assessed"]


class _Entity(BaseModel):
    name: str
    type: str = ""
    description: str = ""
    relationships: list[str] = Field(default_factory=list[str])


class Assessment(BaseModel):
    """What is remembered of how a task was done."""

    suggestions: list[str] = Field(default_factory=list[str])
    """What is to be done better next time."""

    quality: float | None = None
    """From 0 to 10; None where nobody judged it."""

    entities: list[_Entity] = Field(default_factory=list[_Entity])
    """Who and what the result tells something about."""

    @property
    def items(self) -> list[EntityMemoryItem]:
        """The entities as the entity memory takes them."""
        return [
            EntityMemoryItem(one.name, one.type, one.description, "\n".join(f"- {text}" for text in one.relationships))
            for one in self.entities
            if one.name.strip()
        ]


def assessed(
    task: str, expected_output: str, output: str, model: Model | None, book: Book, usage: UsageLedger, stage: str
) -> Body[Assessment]:
    """What a model says of a result, in one request; what a rule finds where it cannot be read or there is none.

    Args:
        task: what was to be done.
        expected_output: what was expected.
        output: the result.
        model: who is asked; None for nobody.
        book: the wording.
        usage: where the request is counted.
        stage: the step of the task that the request belongs to.
    """
    if model is not None:
        messages: list[Message] = [
            {"role": "system", "content": book.slice("assessment_system", schema=described(Assessment))},
            {
                "role": "user",
                "content": book.slice("assessment_text", task=task, expected_output=expected_output, output=output),
            },
        ]
        try:
            asked = yield from formed(messages, Assessment, model, book, usage, attempts=1, stage=stage)
        except EffectFailed as failure:
            if failure.type_name == "TimeLimitReached":
                raise
        else:
            if asked.found is not None:
                return asked.found
    return _by_rule(output)


def _by_rule(output: str) -> Assessment:
    found = [_Entity(name=one.name, type=one.type, description=one.description) for one in entities_in(output)]
    return Assessment(entities=found)
