"""What an agent's `kickoff` gives back."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny

from crewgraph.definitions.plain_model import model_again, plain_model
from crewgraph.llm.usage import UsageMetrics

__all__ = ["LiteAgentOutput"]


class LiteAgentOutput(BaseModel):
    """The result of an agent without a crew."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    raw: str = ""
    """The text as the model wrote it."""

    pydantic: SerializeAsAny[BaseModel] | None = None
    """The text as an instance of `response_format`."""

    agent_role: str
    """The role of the agent."""

    usage_metrics: dict[str, Any] | None = None
    """What the models reported, all attempts included: the fields of `UsageMetrics`."""

    messages: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    """The conversation with the model, from its first message to the answer, as role and content."""

    @property
    def token_usage(self) -> UsageMetrics:
        """What the models reported."""
        return UsageMetrics.model_validate(self.usage_metrics or {})

    def to_dict(self) -> dict[str, Any]:
        """The structured form as a dict; empty where there is none."""
        return self.pydantic.model_dump() if self.pydantic is not None else {}

    def __str__(self) -> str:
        return self.raw

    def to_plain(self) -> dict[str, Any]:
        """As plain data, the form that checkpoints hold."""
        plain = self.model_dump(mode="json", exclude={"pydantic"})
        plain["pydantic"] = plain_model(self.pydantic)
        return plain

    @classmethod
    def from_plain(cls, data: Mapping[str, Any], model: type[BaseModel] | None = None) -> Self:
        """The output that `to_plain` described.

        Args:
            data: plain data, checked like a constructor's arguments.
            model: what `pydantic` is an instance of.

        Raises:
            pydantic.ValidationError: the data does not fit.
        """
        return cls.model_validate({**data, "pydantic": model_again(data.get("pydantic"), model)})
