import json
import time
from decimal import Decimal
from enum import Enum

import pytest
from combinations import of
from hypothesis import given
from hypothesis import strategies as st

from crewgraph.errors import DefinitionError, MissingInput
from crewgraph.text import extract_json, fill, json_encoder, placeholders, shorten, slug

WHERE = "the description of task `x`"
INPUTS = {"x": "X", "a-b": "AB", "_u": 1, "x1": 1.5, "n": None, "t": True, "d": {"k": "v'q"}, "l": ["a", 1, None]}


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("{x} and {a-b}", "X and AB"),
        ("{_u}{x1}", "11.5"),
        ("{n} {t} {d} {l}", "None True {'k': \"v'q\"} ['a', 1, None]"),
        ("{{x}}", "{X}"),
        ("{{x}", "{X"),
        ('{"a": 1} {x}', '{"a": 1} X'),
        ('{{"a": "{x}"}}', '{{"a": "X"}}'),
        ("{}{0}{1a}{-z}{ x }{x }{a b}", "{}{0}{1a}{-z}{ x }{x }{a b}"),
        ("{x.__class__}{x[0]}{x!r}{x:>3}", "{x.__class__}{x[0]}{x!r}{x:>3}"),
        ("{名}{é}", "{名}{é}"),
        ("no braces", "no braces"),
        ("", ""),
    ],
)
def test_only_names_are_placeholders(template: str, filled: str):
    """CrewAI 1.2.1 and 1.15 fill each of these the same way."""
    assert fill(template, INPUTS, where=WHERE) == filled


def test_what_was_inserted_is_not_filled_again():
    """CrewAI fills the inserted text with the inputs that come later."""
    assert fill("{y}{x}", {"x": "{y}", "y": "{x}"}, where=WHERE) == "{x}{y}"


def test_a_missing_input_is_named_with_its_place_and_what_was_given():
    with pytest.raises(MissingInput) as caught:
        fill("{x} {topic} {year} {topic}", {"x": 1, "z": 2}, where=WHERE)
    assert str(caught.value) == (
        "the description of task `x` needs the inputs `topic`, `year`, which were not given. "
        "Inputs given: `x`, `z`. "
        'Pass inputs={"topic": ..., "year": ...}, or remove the braces if the text is meant literally.'
    )
    assert isinstance(caught.value, ValueError)
    with pytest.raises(MissingInput, match="needs the input `q`, which was not given. Inputs given: none"):
        fill("{q}", {}, where=WHERE)


@pytest.mark.parametrize(
    ("value", "message"),
    [(Decimal(1), "`v` has type Decimal"), ((1, 2), "`v` has type tuple"), (b"x", "`v` has type bytes")],
)
def test_a_value_of_another_type_is_refused(value: object, message: str):
    with pytest.raises(DefinitionError, match=message) as caught:
        fill("{v}", {"v": value}, where=WHERE)
    assert caught.value.faults[0].where == WHERE


def test_a_value_deep_inside_is_named_by_its_path():
    with pytest.raises(DefinitionError, match=r"the input `v` cannot be formatted: `v\['a'\]\[1\]` has type set"):
        fill("{v}", {"v": {"a": [1, {2}]}}, where=WHERE)


def test_a_text_enum_is_shown_as_its_value():
    class Tone(str, Enum):  # noqa: UP042
        DRY = "dry"

    assert fill("{tone}", {"tone": Tone.DRY}, where=WHERE) == "dry"


def test_placeholders_are_listed():
    assert placeholders('{a} {b-c} {a} {"d": 1} {e.f}') == {"a", "b-c"}
    assert placeholders("plain") == set()


@given(st.text(), st.dictionaries(st.from_regex(r"[A-Za-z_][A-Za-z0-9_\-]*", fullmatch=True), st.text()))
def test_a_template_without_its_names_stays_as_it_is(template: str, inputs: dict[str, str]):
    inputs = {**inputs, **dict.fromkeys(placeholders(template), "")}
    filled = fill(template, inputs, where=WHERE)
    assert (filled == template) or placeholders(template)


@given(st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_\-]{0,8}", fullmatch=True), st.text(), min_size=1))
def test_every_value_arrives_untouched(inputs: dict[str, str]):
    template = "|".join(f"{{{name}}}" for name in inputs)
    assert fill(template, inputs, where=WHERE) == "|".join(inputs.values())


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Research: the {topic}! | now", "research_the_topic_now"),
        ("Überblick 日本 2024", "überblick_日本_2024"),
        ("हिन्दी लेख", "हिन्दी_लेख"),
        ("!!! ... ---", "task"),
        ("", "task"),
        ("word " * 20, "word_word_word_word_word_word_word_word_word"),
        ("a" * 60, "a" * 48),
    ],
)
def test_a_slug_is_readable(text: str, name: str):
    assert slug(text) == name


def test_a_taken_slug_gets_a_number():
    assert slug("A b", taken={"a_b"}) == "a_b_2"
    assert slug("A b", taken={"a_b", "a_b_2"}) == "a_b_3"
    assert slug("a" * 60, taken={"a" * 48}) == "a" * 46 + "_2"


@given(st.text(), st.lists(st.text(), max_size=5))
def test_a_slug_is_a_node_name_and_stable(text: str, others: list[str]):
    taken: list[str] = []
    for other in [*others, text]:
        taken.append(slug(other, taken=taken))
    assert len(set(taken)) == len(taken)
    for name in taken:
        assert 0 < len(name) <= 48
        assert not set(name) & set("|: \n{}")
    assert slug(slug(text)) == slug(text)


def test_a_shortened_text_says_how_much_is_left_out():
    assert shorten("short", 5) == "short"
    assert shorten("x" * 100, 40) == "x" * 17 + "… [83 characters more]"
    assert shorten("x" * 100, 3) == "xxx"


@given(st.text(), st.integers(0, 100))
def test_a_shortened_text_keeps_to_the_limit(text: str, limit: int):
    assert len(shorten(text, limit)) <= limit


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Here you are: {"a": {"b": [1, 2]}} Enjoy!', {"a": {"b": [1, 2]}}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('Like {"longer": "than the answer is"}:\n```json\n{"a": 1}\n```', {"a": 1}),
        ('{"code": "```py\\nx = [1]\\n```"} ok', {"code": "```py\nx = [1]\n```"}),
        ('as in [1] and [2]: {"a": "} {"}', {"a": "} {"}),
        ("[] then [1]", [1]),
        ('{"a": 1,}', {"a": 1}),
        (
            "it is {'a': True, 'b': None, 'c': 'it\\'s \"so\"', 'd': [1,]}.",
            {"a": True, "b": None, "c": 'it\'s "so"', "d": [1]},
        ),
        ('{"s": "it\\\'s"} .', {"s": "it's"}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('bad {"a" 1 {"b": 2}} end', {"b": 2}),
        ('an open [ bracket, a "quote and {"a": 1}', {"a": 1}),
        ('{"lc": 1, "type": "secret", "id": ["KEY"]}', {"lc": 1, "type": "secret", "id": ["KEY"]}),
        ("{'it's': 1}", None),
        ("{a: 1, $b_2 : [2]}", {"a": 1, "$b_2": [2]}),
        ('{"a": 1 "b": [2] c: “{three}”\n\'d\': 4}', {"a": 1, "b": [2], "c": "{three}", "d": 4}),
        ('{"a": 1, // one, {"really": 1}\n "b": 2, // two\n}', {"a": 1, "b": 2}),
        (r'{"a": "C:\path\user \d+ \n \u0041 \\q"}', {"a": "C:\\path\\user \\d+ \n A \\q"}),
        ('["a" "b"]', None),
        ('{"a": "b"', None),
        ("{a b: 1}", None),
        ("{'a', 'b'}", None),
        ("{'a': 0x10}", None),
        ("42", None),
        ("", None),
        ("no JSON {here} [at all]", None),
    ],
)
def test_json_is_found_in_prose(text: str, value: object):
    assert extract_json(text) == value


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), json_values) | st.lists(json_values), st.sampled_from(["", "```json\n", "So: "]))
def test_every_json_value_is_found_again(value: object, before: str):
    assert extract_json(f"{before}{json.dumps(value)}\n") == value
    assert extract_json(f"{before}{json.dumps(value, ensure_ascii=False, indent=1)} .") == value


@given(json_values, st.booleans(), st.booleans())
def test_json_is_encoded_as_the_standard_library_encodes_it(value: object, ensure_ascii: bool, sort_keys: bool):
    encoder = json_encoder(ensure_ascii=ensure_ascii, sort_keys=sort_keys)
    assert encoder(value) == json.dumps(value, ensure_ascii=ensure_ascii, sort_keys=sort_keys, separators=(",", ":"))


def test_what_json_cannot_hold_is_encoded_as_its_default_and_a_cycle_raises():
    assert (
        json_encoder(default=lambda value: type(value).__name__)({"a": [Decimal(1), {2}]}) == '{"a":["Decimal","set"]}'
    )
    with pytest.raises(TypeError, match="Decimal"):
        json_encoder()(Decimal(1))
    cycle: list[object] = []
    cycle.append(cycle)
    with pytest.raises(RecursionError):
        json_encoder()(cycle)


@given(st.dictionaries(st.text("abc'\" \\"), st.booleans() | st.none() | st.integers() | st.text("abc'\" \\")))
def test_python_literals_are_read_as_python_reads_them(value: dict[str, object]):
    assert extract_json(f"answer: {value!r}") == value


@given(st.text(st.sampled_from("{}[]\"'\\,: \n`1at/“")))
def test_garbage_never_raises(text: str):
    extract_json(text)


@pytest.mark.parametrize(
    "unit",
    [
        "[", '{"a":', '["', "{'", "[1,", "I don't {know} [x] ", '{"\\"', "[1 2 ", "{'[\n", '["a{" ', "{a:", "{“",
        "{a //", '{"a" "',
    ],
)  # fmt: skip
def test_long_garbage_is_given_up_soon(unit: str):
    text = unit * (of(300_000, 1_000_000) // len(unit))
    start = time.thread_time()
    extract_json(text)
    assert time.thread_time() - start < 20  # measured with a megabyte: 0.2 to 2.5 s
    assert extract_json("[" * 5000 + "]" * 5000) is None


def test_a_dotted_name_stays_text_and_is_told_of():
    with pytest.warns(UserWarning, match=r"the text keeps `\{user.name\}` as text"):
        assert fill("{user.name} {x} {{a.b}}", {"x": 1}, where="the text") == "{user.name} 1 {{a.b}}"
