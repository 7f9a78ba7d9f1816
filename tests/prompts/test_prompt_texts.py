"""The prompt texts: where they are used, and how they are filled."""

import json
from importlib import resources
from typing import Any

import pytest

from crewgraph.prompts.i18n import Book, default_book

TEXTS: dict[str, dict[str, Any]] = json.loads(
    resources.files("crewgraph.prompts").joinpath("en.json").read_text("utf-8")
)


def test_the_protocol_words_are_there():
    tools = TEXTS["slices"]["tools"]
    assert all(word in tools for word in ("Thought:", "Action:", "Action Input:", "Observation", "Final Answer:"))
    assert "Final Answer" in TEXTS["errors"]["force_final_answer"]


def test_values_are_put_in_once_and_what_they_hold_is_not_filled_again():
    book = Book({"slices": {"a": "{x} and {y}"}, "errors": {}})
    assert book.slice("a", x="{y}", y="{x}") == "{y} and {x}"


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{x}", "1"), ("{{x}}", "{1}"), ("{unknown}", "{unknown}"), ('{"json": {x}}', '{"json": 1}'),
        ("a { b {x} c }", "a { b 1 c }"), ("{", "{"), ("}{", "}{"), ("{}", "{}"), ("{x", "{x"), ("{x!", "{x!"),
        ("", ""),
    ],
)  # fmt: skip
def test_only_names_that_are_given_are_placeholders(text: str, filled: str):
    assert Book({"slices": {"a": text}, "errors": {}}).slice("a", x="1") == filled


def test_a_text_that_is_not_there_is_a_key_error():
    for ask in (default_book().slice, default_book().error):
        with pytest.raises(KeyError, match="nothing"):
            ask("nothing")


def test_slices_and_errors_are_two_parts():
    book = Book({"slices": {"a": "one"}, "errors": {"a": "two"}})
    assert (book.slice("a"), book.error("a")) == ("one", "two")
    given: dict[str, Any] = {"unused": "x"}
    assert book.slice("a", **given) == "one"
