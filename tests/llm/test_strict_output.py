"""Structured output that OpenAI's models keep to exactly (`strict`), where the pydantic model can be said that way."""

from datetime import date
from enum import StrEnum
from typing import Any, Literal, cast
from uuid import UUID, uuid4

import pytest
from modes import Mode
from pydantic import BaseModel, ConfigDict, Field
from servers.openai_api import OpenAIServer

from crewgraph import LLM, Agent, Crew, Task


class Kind(StrEnum):
    HIGH = "high"
    LOW = "low"


class Tide(BaseModel):
    """A tide."""

    metres: float = Field(ge=0, description="above zero")
    kind: Kind
    day: date
    place: Literal["here", "there"]


class Harbour(BaseModel):
    name: str
    tides: list[Tide] = []
    main: Tide
    pilot: str | None = None
    note: str = ""
    berths: list[int] = Field(default_factory=list[int])


class Branch(BaseModel):
    name: str
    branches: list["Branch"] = []


class Open(BaseModel):
    data: dict[str, int]


class Anything(BaseModel):
    data: Any


class Extra(BaseModel):
    model_config = ConfigDict(extra="allow")

    name: str


class Limited(BaseModel):
    limit: int = 10


class Made(BaseModel):
    id: UUID = Field(default_factory=uuid4)


class NeverNull(BaseModel):
    name: str = cast("Any", None)


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Pet(BaseModel):
    pet: Cat | Dog = Field(discriminator="kind")


class Pair(BaseModel):
    pair: tuple[int, int]


class Long(BaseModel):
    text: str = Field(min_length=7)


def sent(server: OpenAIServer) -> dict[str, Any]:
    return server.bodies[-1]["response_format"]["json_schema"]


def llm_at(server: OpenAIServer, **more: Any) -> LLM:
    return LLM("openai/test", base_url=server.url, api_key="k", max_retries=0, **more)


def test_what_a_strict_schema_can_say_is_asked_for_strictly(serve: Any):
    server = serve(['{"metres": 1, "kind": "low", "day": "2026-01-02", "place": "here"}'])
    assert llm_at(server, response_format=Tide).call("when?") == Tide(
        metres=1, kind=Kind.LOW, day=date(2026, 1, 2), place="here"
    )
    assert sent(server) == {
        "name": "Tide",
        "description": "A tide.",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {
                "metres": {"type": "number", "minimum": 0, "description": "above zero"},
                "kind": {"type": "string", "enum": ["high", "low"]},
                "day": {"type": "string", "format": "date"},
                "place": {"type": "string", "enum": ["here", "there"]},
            },
            "required": ["metres", "kind", "day", "place"],
            "additionalProperties": False,
        },
    }


def test_optional_fields_are_asked_for_where_the_model_can_write_that_there_is_nothing(serve: Any):
    server = serve(['{"name": "a", "branches": [{"name": "b", "branches": []}]}'])
    assert llm_at(server, response_format=Branch).call("which?") == Branch(name="a", branches=[Branch(name="b")])
    assert sent(server)["strict"] is True
    tide = {"metres": 1, "kind": "low", "day": "2026-01-02", "place": "here"}
    harbour = Harbour.model_validate({"name": "a", "main": tide})
    server = serve([harbour.model_dump_json()])
    assert llm_at(server, response_format=Harbour).call("which?") == harbour
    schema = sent(server)["schema"]
    assert (sent(server)["strict"], schema["required"]) == (True, list(Harbour.model_fields))
    assert schema["properties"]["pilot"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert "default" not in str(schema)


@pytest.mark.parametrize("model", [Open, Anything, Extra, Limited, Made, NeverNull, Pet, Pair, Long])
def test_what_a_strict_schema_cannot_say_is_asked_for_as_it_is(serve: Any, model: type[BaseModel]):
    server = serve(['{"data": {"a": 1}, "name": "a", "pet": {"kind": "cat"}, "pair": [1, 2], "text": "long text"}'])
    assert isinstance(llm_at(server, response_format=model).call("what?"), model)
    assert sent(server)["strict"] is False
    assert sent(server)["schema"].get("properties") == model.model_json_schema()["properties"]


def test_a_task_asks_for_its_output_strictly_and_only_of_openai(serve: Any, mode: Mode):
    tide = '{"metres": 1, "kind": "low", "day": "2026-01-02", "place": "here"}'
    for provider, is_strict in (("openai", True), ("groq", False), ("hosted_vllm", False)):
        server = serve([tide])
        worker = Agent(
            role="r",
            goal="g",
            backstory="b",
            llm=LLM(f"{provider}/test", base_url=server.url, api_key="k", max_retries=0),
        )
        task = Task(description="d", expected_output="e", agent=worker, output_pydantic=Tide)
        done = mode.kickoff(Crew(agents=[worker], tasks=[task], checkpointer=False))
        assert done.pydantic == Tide.model_validate_json(tide)
        assert sent(server)["strict"] is is_strict
