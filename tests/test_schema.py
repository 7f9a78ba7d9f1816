import functools
import inspect
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, cast

import pytest
from pydantic import BaseModel, Field, ValidationError

from crewgraph.errors import DefinitionError
from crewgraph.schema import call_arguments, from_signature, json_schema, model_outline, validated


class Tone(Enum):
    DRY = "dry"
    WARM = "warm"


class Author(BaseModel):
    name: str = Field(description="the full\n   name", min_length=1)
    title: str = "Dr"


class Book(BaseModel):
    """A book."""

    author: Author
    others: list[Author] = []
    tone: Tone = Tone.DRY
    pages: int | None = None
    sold: dict[str, int] = {}
    printed: date
    kind: Literal["novel", "poem"]


class Node(BaseModel):
    value: int
    children: list["Node"] = []


def test_definitions_are_put_in_their_places_and_titles_taken_out():
    schema = json_schema(Book)
    author = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "the full\n   name", "minLength": 1},
            "title": {"type": "string", "default": "Dr"},
        },
        "required": ["name"],
    }
    assert schema["properties"]["author"] == author
    assert schema["properties"]["others"] == {"type": "array", "default": [], "items": author}
    assert schema["properties"]["tone"] == {"enum": ["dry", "warm"], "type": "string", "default": "dry"}
    assert "$defs" not in schema
    assert "title" not in schema


def test_a_model_that_contains_itself_keeps_its_reference():
    schema = json_schema(Node)
    assert schema["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert schema["$defs"]["Node"]["properties"]["value"] == {"type": "integer"}


def test_field_that_json_cannot_express_is_reported():
    class Odd(BaseModel, arbitrary_types_allowed=True):
        frame: inspect.Signature

    with pytest.raises(DefinitionError, match="the model `Odd` has no JSON schema"):
        json_schema(Odd)


def test_a_model_is_described_as_a_sketch_of_its_json():
    assert model_outline(Book) == (
        "{\n"
        '  "author": {\n'
        '    "name": string  // the full name; characters at least 1\n'
        '    "title": string  // default "Dr"\n'
        "  }\n"
        '  "others": [{\n'
        '    "name": string  // the full name; characters at least 1\n'
        '    "title": string  // default "Dr"\n'
        "  }, ...]  // default []\n"
        '  "tone": "dry" or "warm"  // default "dry"\n'
        '  "pages": integer or null  // optional\n'
        '  "sold": {name: integer, ...}  // default {}\n'
        '  "printed": string (date)\n'
        '  "kind": "novel" or "poem"\n'
        "}"
    )
    assert model_outline(Node) == '{\n  "value": integer\n  "children": [another Node, ...]  // default []\n}'


class Connection:
    pass


CONNECTION = Connection()
SENTINEL = object()


def search(  # pyright: ignore[reportUnknownParameterType]
    self,  # pyright: ignore[reportMissingParameterType, reportUnknownParameterType]
    query,  # pyright: ignore[reportMissingParameterType, reportUnknownParameterType]
    limit: int = None,  # pyright: ignore[reportArgumentType]
    *args: str,
    schema: str,
    _deep: bool = False,
    connection: Connection = CONNECTION,
    extra: Any = SENTINEL,
    tone: Annotated[str, "the tone"] = "dry",
    books: list[Author] = [],  # noqa: B006
    **options: Any,
) -> "NotToBeFound":  # pyright: ignore[reportUndefinedVariable]  # noqa: F821
    """Search.

    Args:
        query: what to look for,
            in any language
        limit (int): how many

    Returns:
        schema: not a parameter
    """


def test_a_signature_becomes_a_model():
    model = from_signature(cast(Any, search), name="Search")
    properties = json_schema(model)["properties"]
    assert list(properties) == ["query", "limit", "schema", "_deep", "extra", "tone", "books"]
    assert properties["query"] == {"description": "what to look for, in any language"}
    assert properties["limit"]["anyOf"] == [{"type": "integer"}, {"type": "null"}]
    assert properties["limit"]["description"] == "how many"
    assert properties["schema"] == {"type": "string"}
    assert properties["tone"]["description"] == "the tone"
    assert json_schema(model)["required"] == ["query", "schema"]
    assert json_schema(model)["additionalProperties"] is True


def test_arguments_come_back_by_the_names_of_the_function():
    model = from_signature(cast(Any, search), name="Search")
    arguments = {"query": 1, "schema": 4, "_deep": "true", "books": [{"name": "Eco"}], "more": 5}
    assert call_arguments(validated(model, arguments)) == {
        "query": 1, "limit": None, "schema": "4", "_deep": True, "extra": SENTINEL, "tone": "dry",
        "books": [{"name": "Eco", "title": "Dr"}], "more": 5,
    }  # fmt: skip


def test_a_model_of_the_users_gives_nested_models_as_dicts():
    """As CrewAI calls a tool that has an `args_schema`: nested models as dicts, dates as dates."""
    given = {"author": {"name": "Eco"}, "printed": "1980-09-01", "kind": "novel"}
    arguments = call_arguments(validated(Book, given))
    assert arguments["author"] == {"name": "Eco", "title": "Dr"}
    assert arguments["printed"] == date(1980, 9, 1)


def test_partials_methods_and_callable_objects_have_signatures_too():
    class Finder:
        def __call__(self, query: str) -> str:
            return query

        def find(self, query: str, *, deep: bool | None = None) -> str:
            return query

    def add(a: int, b: int) -> int:
        return a + b

    assert json_schema(from_signature(Finder(), name="A"))["properties"] == {"query": {"type": "string"}}
    assert list(json_schema(from_signature(Finder().find, name="A"))["properties"]) == ["query", "deep"]
    assert json_schema(from_signature(functools.partial(add, 1), name="A"))["properties"] == {"b": {"type": "integer"}}


def test_restructured_text_docstrings_describe_parameters_too():
    def find(query: str, limit: int) -> None:
        """Find.

        :param query: what
        :param int limit: how many
        """

    properties = json_schema(from_signature(find, name="Find"))["properties"]
    assert [p["description"] for p in properties.values()] == ["what", "how many"]


def test_parameters_that_no_model_can_write_are_refused():
    def needs(connection: Connection) -> None: ...

    def positional(query: str, /) -> None: ...

    def unknown(
        query: "Missing",  # pyright: ignore[reportUndefinedVariable, reportUnknownParameterType]  # noqa: F821
    ) -> None: ...

    with pytest.raises(DefinitionError, match="`connection` of .*needs` has the type .*Connection"):
        from_signature(needs, name="A")
    with pytest.raises(DefinitionError, match="`query` of .*positional` is positional-only"):
        from_signature(positional, name="A")
    with pytest.raises(DefinitionError, match="an annotation of .*unknown` cannot be understood: .*Missing"):
        from_signature(cast(Any, unknown), name="A")
    with pytest.raises(DefinitionError, match="the signature of .* cannot be read: .*Pass `args_schema`"):
        from_signature(max, name="A")


def test_data_is_validated_from_dicts_and_json():
    assert validated(Author, {"name": "Eco"}) == Author(name="Eco")
    assert validated(Author, '{"name": "Eco"}') == Author(name="Eco")
    with pytest.raises(ValidationError):
        validated(Author, {})
