"""The text that tells a model which structure is wanted."""

from pydantic import BaseModel

from crewgraph.schema import described

__all__ = ["PydanticSchemaParser"]


class PydanticSchemaParser(BaseModel):
    """Tells of a model's fields in a text."""

    model: type[BaseModel]
    """The model."""

    def get_schema(self) -> str:
        """A sketch of the JSON it wants, as our prompts hold it.

        Raises:
            DefinitionError: a field has a type that JSON cannot express.
        """
        return described(self.model)
