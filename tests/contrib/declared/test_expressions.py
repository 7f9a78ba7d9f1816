"""CEL expressions as `cel-python` evaluates them: values and errors."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from crewgraph import extras
from crewgraph.contrib.declared.expression import (
    evaluate_expression,
    expression_labels,
    parse_expression,
    split_template,
)
from crewgraph.errors import ExpressionError, MissingExtra

DATA = {
    "state": {"port": "Cork", "depth": 4, "share": 1.5, "gone": None, "open": True, "ships": ["Ann", "Bo"]},
    "outputs": {"look": {"berths": [{"free": 2}]}},
}


def value(text: str, **more: Any) -> Any:
    return evaluate_expression(parse_expression(text), {**DATA, **more})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("state.depth", 4),
        ("outputs.look.berths[0].free", 2),
        ("-7 / 2", -3),
        ("0x1F + 1u", 32),
        ("state.depth > 3 ? 'deep' : 'flat'", "deep"),
        ("1 / 0 == 1 && false", False),
        ("has(state.port) && !has(state.sea)", True),
        ("state.gone == null", True),
        ("state.ships.map(s, s + '.')", ["Ann.", "Bo."]),
        ("[1, 2].all(n, [1, 2, 3].exists(m, m > n))", True),
        ("'Cork'.matches('^C.*k$')", True),
        ("int('4') + int(1.9) + int(-1.9)", 4),
        ("{'a': 1, 2: true}", {"a": 1, "2": True}),
        ("timestamp('2026-01-31T23:00:00Z') + duration('1h30m')", "2026-02-01T00:30:00Z"),
        ("1 // a note", 1),
    ],
)
def test_what_expressions_come_to(text: str, expected: Any):
    result = value(text)
    assert (result, type(result)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("1 +", r"'1 \+' is not a CEL expression: syntax error at line 1, character 3"),
        ("state.", "line 1, character 6"),
        ("import os", "line 1, character 8"),
        ("a\n; b", "line 2, character 1"),
        ("[1].map(1, 2)", r"is not a CEL expression: `map` takes variable names, .* `map\(x, x > 1\)`"),
        ("[1].map(x, x > 1, x)", "`map` takes"),
        ("[1].all()", "`all` takes"),
        ("[1].reduce(x, 0, x)", r"`reduce\(sum, x, 0, sum \+ x\)`"),
    ],
)
def test_what_is_no_expression_is_refused(text: str, message: str):
    with pytest.raises(ExpressionError, match=message):
        parse_expression(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sea", "there is no `sea`; available: outputs, state"),
        ("state.sea", "no such member in mapping: 'sea'"),
        ("state.port.__class__", "with type: 'string' does not support field selection"),
        (
            "state.depth * 1.5",
            r"`multiplication_mul` applied to '\(int, double\)'; .* convert with int\(\), double\(\)",
        ),
        ("1 / 0", "divide by zero"),
        ("eval('1')", "there is no function `eval`; available: bool, bytes, contains"),
        ("state.port.upper()", "there is no function `upper`"),
        ("type(1)", "not JSON serializable"),
        ("(" * 80 + "1" + ")" * 80, "nested too deeply"),
    ],
)
def test_what_has_no_value_is_reported(text: str, message: str):
    with pytest.raises(ExpressionError, match=message):
        value(text)


def test_an_expression_tells_the_names_it_takes_from_outside():
    assert parse_expression("state.ships.filter(s, s != item && s in outputs.seen)").roots == {
        "state",
        "item",
        "outputs",
    }
    assert parse_expression("[1].map(x, [2].all(y, x == y && .z == y)) == x").roots == {"x", "z"}


def test_objects_of_python_are_out_of_reach():
    with pytest.raises(ExpressionError, match="unexpected type object"):
        value("it.x", it=object())


def test_now_is_the_time():
    assert value("now() > timestamp('2026-01-01T00:00:00Z') && now().getFullYear() > 2025") is True


def test_what_a_part_of_a_list_or_a_map_lacks_is_told():
    for text in ("{'a': state.nope}", "[1, {'b': [state.nope]}]"):
        with pytest.raises(ExpressionError, match="no such member in mapping: 'nope'"):
            value(text)
    with pytest.raises(
        ExpressionError, match="`addition_add`: a part of it has no value, such as a field that does not"
    ):
        value("[1].map(x, x + state.nope)")


def test_points_in_time_and_spans_of_it_are_told_as_text():
    at = datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert value("[now, now + span, span]", now=at, span=timedelta(minutes=90)) == [
        "2026-01-31T12:00:00Z",
        "2026-01-31T13:30:00Z",
        "5400s",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("state.open ? 'in' : (state.depth > 3 ? \"out\" : '''off''')", ["in", "out", "off"]),
        ("state.open ? 'in' : state.port", ["in"]),
        ("['in'] == state.ships", []),
        ("['in']", []),
    ],
)
def test_an_expression_tells_the_texts_it_may_come_to(text: str, expected: list[str]):
    assert expression_labels(parse_expression(text)) == expected


def test_a_missing_package_is_reported_with_the_pip_line(monkeypatch: pytest.MonkeyPatch):
    def missing(name: str) -> None:
        raise ImportError(name, name=name)

    monkeypatch.setattr(extras.importlib, "import_module", missing)
    with pytest.raises(MissingExtra, match=r'pip install "crewgraph\[declared\]"'):
        parse_expression("1 + 1001")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", [("plain", False)]),
        ("${state.a}", [("state.a", True)]),
        ("a ${ state.b } c${d}", [("a ", False), ("state.b", True), (" c", False), ("d", True)]),
        ("${ {'a': '}'}.a }", [("{'a': '}'}.a", True)]),
        ("$state {x}", [("$state {x}", False)]),
        ("${{'a': {'b': 1}}}}", [("{'a': {'b': 1}}", True), ("}", False)]),
        ('${"""a"}"""}', [('"""a"}"""', True)]),
        (r"${'\'}'}", [(r"'\'}'", True)]),
        ("${state.a // }\n}", [("state.a // }", True)]),
    ],
)
def test_texts_are_taken_apart_at_their_expressions(text: str, expected: list[tuple[str, bool]]):
    assert [(part.text, part.is_expression) for part in split_template(text)] == expected


@pytest.mark.parametrize("text", ["${", "${state.a", "${}", "a ${ }", "${'a}'", "${'" + "\\\\" * 60])
def test_an_expression_in_a_text_has_an_end(text: str):
    with pytest.raises(ExpressionError):
        split_template(text)
