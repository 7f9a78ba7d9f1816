"""Models as users give them to agents."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import AfterValidator, Field, PlainSerializer

from crewgraph.errors import NoModelError
from crewgraph.llm.llm import LLM
from crewgraph.llm.resolve import default_name

__all__ = ["GivenModel", "GivenOrNamedModel"]


def _as_object(given: Any) -> Any:
    """The `LLM` that a name or a dict of its keywords stands for; anything else as it is."""
    if isinstance(given, str):
        return LLM(given) if given.strip() else given  # refused when it is asked, with what is accepted
    if isinstance(given, Mapping):
        words = cast("Mapping[str, Any]", given)
        return LLM(**words) if isinstance(words.get("model"), str) else words
    return given


def _or_of_environment(given: Any) -> Any:
    """The same, and the environment's model for None; None where it names none yet, and is asked again when there is work."""
    made = _as_object(given)
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

GivenModel = Annotated[Any, AfterValidator(_as_object), _InJSON]
"""A model; a name is an `LLM` from then on, whose attributes can be read and changed."""

GivenOrNamedModel = Annotated[Any, AfterValidator(_or_of_environment), Field(validate_default=True), _InJSON]
"""The same, and the one that the environment names where none was given."""
