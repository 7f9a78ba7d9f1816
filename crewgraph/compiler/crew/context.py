"""The LangGraph context of a compiled crew's runs, which an assistant can store."""

from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from crewgraph.errors import RunError
from crewgraph.schema import PlainDict, fault_text

__all__ = ["CrewRunContext", "read_context"]


class CrewRunContext(BaseModel):
    """The context that a compiled crew takes: `graph.invoke(..., context={"model": "openai/gpt-4o"})`.

    Fields that are None keep the crew's values.

    An assistant of LangGraph's server stores one, so that one crew can be served with several models, inputs and limits.
    """

    model_config = ConfigDict(extra="forbid")

    model: str | None = Field(default=None, description='The model of all agents, such as "openai/gpt-4o-mini".')
    inputs: dict[str, Any] = Field(
        default_factory=dict, description="Values of placeholders for which the input has none."
    )
    max_tokens: int | None = Field(default=None, gt=0, description="How many tokens the run may use.")
    max_cost: float | None = Field(default=None, gt=0, description="What the run may cost, in USD.")
    max_seconds: float | None = Field(default=None, gt=0, description="How many seconds the run may take.")


def read_context(context: object) -> CrewRunContext | None:
    """Return the context that a caller passed to a crew's graph.

    Raises:
        RunError: It has a key that nothing reads, or a value that does not fit.
    """
    if context is None or isinstance(context, CrewRunContext):
        return context
    if not isinstance(context, Mapping):
        raise RunError(f"the context of a crew is a dict or a `CrewRunContext`, not {context!r:.80}")
    try:
        return CrewRunContext.model_validate(dict(cast("PlainDict", context)))
    except ValidationError as error:
        problems = "; ".join(
            f"`{detail['loc'][0]}`: {fault_text(detail)}" for detail in error.errors(include_url=False)
        )
        known = ", ".join(f"`{name}`" for name in CrewRunContext.model_fields)
        raise RunError(f"the context of the run does not fit: {problems}. It may have {known}.") from error
