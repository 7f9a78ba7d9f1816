"""Models as users give them to agents."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field, PlainSerializer

from crewgraph.errors import NoModelError
from crewgraph.llm.llm import LLM
from crewgraph.llm.resolve import default_name, llm_named

__all__ = ["GivenModel", "GivenOrNamedModel"]


def _or_of_environment(given: Any) -> Any:
    """What `llm_named` gives; for None the environment's model, or None where it names none yet."""
    made = llm_named(given)
    if made is not None:
        return made
    try:
        return LLM(default_name())
    except NoModelError:
        return None


def _in_json(model: Any) -> Any:
    """A model by the keywords that make it again, without its key."""
    return model.to_config_dict() if isinstance(model, LLM) else model


_InJSON = PlainSerializer(_in_json, when_used="json-unless-none")

GivenModel = Annotated[Any, AfterValidator(llm_named), _InJSON]
"""A model; a name is an `LLM` from then on, whose attributes can be read and changed."""

GivenOrNamedModel = Annotated[Any, AfterValidator(_or_of_environment), Field(validate_default=True), _InJSON]
"""The same, and the one that the environment names where none was given."""
