"""From a text to the structure a task asks for: read it, find it, or have the model write it."""

import json
from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from crewgraph.compiler.bodies.protocol import text_of
from crewgraph.core.effects import Body, EffectFailed, ModelCall
from crewgraph.core.messages import Reply
from crewgraph.core.ports import Model
from crewgraph.core.transcript import Transcript
from crewgraph.definitions.task import Task
from crewgraph.llm.ledger import UsageLedger
from crewgraph.prompts.book import Book
from crewgraph.schema import described
from crewgraph.text import extract_json

__all__ = ["Structured", "structured"]

_ATTEMPTS = 3


@dataclass(frozen=True, kw_only=True)
class Structured:
    """What a text was turned into."""

    pydantic: BaseModel | None = None
    json_dict: dict[str, Any] | None = None
    problem: str | None = None
    """Why there is no structure, where one was asked for."""


def structured(task: Task, text: str, model: Model, book: Book, usage: UsageLedger) -> Body[Structured]:
    """The structure that `task` asks for, out of `text`."""
    schema = task.output_pydantic or task.output_json
    if schema is None:
        return Structured()
    found, problem = _read(text, schema)
    if found is None:
        found, problem = yield from _asked(text, schema, model, book, usage, problem)
    if found is None:
        return Structured(problem=problem)
    if task.output_json is not None:
        fields: Any = found.model_dump(mode="json")
        if isinstance(fields, dict):
            return Structured(json_dict=cast(dict[str, Any], fields))
        return Structured(
            problem=f"`output_json` gives dicts, and `{schema.__name__}` is none; give it as `output_pydantic`"
        )
    return Structured(pydantic=found)


def _read(text: str, schema: type[BaseModel]) -> tuple[BaseModel | None, str]:
    """The text itself as JSON, else the JSON that stands in it."""
    problem = "it holds no JSON"
    for data in _candidates(text):
        try:  # as JSON: strict models read it in their way, and errors speak of objects and arrays
            return schema.model_validate_json(json.dumps(data)), ""
        except ValidationError as error:
            problem = _told(error)
        except RecursionError:
            problem = "it is nested too deeply"
    return None, problem


def _candidates(text: str) -> list[Any]:
    found: list[Any] = []
    try:
        found.append(json.loads(text, strict=False))
    except (RecursionError, ValueError):
        inner = extract_json(text)
        if inner is not None:
            found.append(inner)
    return found


def _told(error: ValidationError) -> str:
    parts = [f"{'.'.join(map(str, e['loc'])) or 'the whole'}: {e['msg']}" for e in error.errors(include_url=False)]
    return "; ".join(parts[:8])


def _asked(
    text: str, schema: type[BaseModel], model: Model, book: Book, usage: UsageLedger, problem: str
) -> Body[tuple[BaseModel | None, str]]:
    transcript = Transcript(
        [
            {"role": "system", "content": book.slice("conversion_system", schema=described(schema))},
            {"role": "user", "content": book.slice("conversion_text", text=text)},
        ]
    )
    for _ in range(_ATTEMPTS):
        try:
            reply: Reply = yield ModelCall(model=model, transcript=transcript)
        except EffectFailed as failure:
            # What the agent wrote is worth more than its structure: the task keeps it.
            return None, f"the model could not be asked: {failure}"
        usage.count(model.name, reply["usage"])
        answer = text_of(reply["content"])
        found, problem = _read(answer, schema)
        if found is not None:
            return found, ""
        transcript.add({"role": "assistant", "content": answer})
        transcript.add({"role": "user", "content": book.slice("conversion_again", error=problem)})
    return None, problem
