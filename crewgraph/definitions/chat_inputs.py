"""What people are told of a crew they can talk to."""

from pydantic import BaseModel, Field

__all__ = ["ChatInputField", "ChatInputs"]


class ChatInputField(BaseModel):
    """Something that the crew has to be told."""

    name: str = Field(description="the input's name")
    """Its name among the inputs."""

    description: str = Field(description="what is to be given")
    """What is to be given."""


class ChatInputs(BaseModel):
    """A crew, and what it has to be told."""

    crew_name: str = Field(description="the name of the crew")
    """Its name."""

    crew_description: str = Field(description="what it does, in one sentence")
    """What it does, in one sentence."""

    inputs: list[ChatInputField] = Field(default_factory=list[ChatInputField], description="its inputs")
    """Its inputs."""
