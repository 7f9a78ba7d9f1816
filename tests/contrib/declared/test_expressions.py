"""CEL expressions as `cel-python` evaluates them: values and errors."""

import sys
from concurrent.futures import ThreadPoolExecutor
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
        ("state['port'] + '!'", "Cork!"),
        ("outputs.look.berths[0].free", 2),
        ("state.depth * 2 - 1", 7),
        ("2 - 1 - 1", 0),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("1.0 / 2.0", 0.5),
        ("7 / 2", 3),
        ("--3", 3),
        ("-9223372036854775808", -(2**63)),
        ("0x1F + 1u", 32),
        ("1e3", 1000.0),
        ("double(state.depth) > 3.5 && !false", True),
        ("[1, {'a': 2}] == [1, {'a': 2}]", True),
        ("state.depth > 3 ? 'deep' : 'flat'", "deep"),
        ("false ? 1 : true ? 2 : 3", 2),
        ("'Bo' in state.ships || 1 / 0 == 1", True),
        ("1 / 0 == 1 && false", False),
        ("'port' in state", True),
        ("has(state.port) && !has(state.sea)", True),
        ("state.gone == null", True),
        ("state.ships.map(s, s + '.')", ["Ann.", "Bo."]),
        ("[1, 2].reduce(all, n, 10, all + n)", 13),
        ("[3, 1].min()", 1),
        ("[1, 2, 3].filter(n, n % 2 == 1)", [1, 3]),
        ("[1, 2].all(n, [1, 2, 3].exists(m, m > n))", True),
        ("[1, 2].exists_one(n, n == 2)", True),
        ("{'a': 1, 'b': 2}.filter(k, k > 'a')", ["b"]),
        ("size(state.ships) + 'Zürich'.size()", 8),
        ("'Cork'.startsWith('C') && 'Cork'.endsWith('k') && 'Cork'.contains('or')", True),
        ("'Cork'.matches('^C.*k$')", True),
        ("int('4') + int(1.9) + int(-1.9)", 4),
        ("string(4) + string(1.5)", "41.5"),
        ("double('1.5') + 1.0", 2.5),
        ("bytes('a')", "YQ=="),
        (r"r'a\n' + 'b\tc' + '''d'''", "a\\nb\tcd"),
        ("[1] + [2]", [1, 2]),
        ("{'a': 1, 2: true}", {"a": 1, "2": True}),
        ("timestamp('2026-01-31T23:00:00Z') + duration('1h30m')", "2026-02-01T00:30:00Z"),
        ("timestamp('2026-01-31T23:00:00Z').getDate('+02:00')", 1),
        ("timestamp('2026-01-31T23:00:00Z').getMonth() + timestamp('2026-01-31T23:00:00Z').getHours()", 23),
        ("timestamp('2026-01-02T00:00:00Z') - timestamp('2026-01-01T00:00:00Z')", "86400s"),
        ("duration('90s').getMinutes()", 1),
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
        ("state.ships[2]", "list index out of range"),
        (
            "state.depth * 1.5",
            r"`multiplication_mul` applied to '\(int, double\)'; .* convert with int\(\), double\(\)",
        ),
        ("state.depth > 3.5", r"`relation_gt` applied to '\(int, double\)'"),
        ("'4' == 4", r"\(string, int\)"),
        ("1 / 0", "divide by zero"),
        ("9223372036854775807 + 1", "overflow"),
        ("9223372036854775808", "overflow"),
        ("state.depth ? 1 : 2", r"applied to '\(int, int, bool\)'"),
        ("!1", r"`unary_not` applied to '\(int\)'"),
        ("1 / 0 == 1 && true", "divide by zero"),
        ("eval('1')", "there is no function `eval`; available: bool, bytes, contains"),
        ("state.port.upper()", "there is no function `upper`"),
        ("int('x')", "invalid literal for int"),
        ("'a'.matches('(')", "match error"),
        ("timestamp('soon')", r"Unable to parse string \[soon\]"),
        ("duration('long')", "could not convert string"),
        ("1 in 2", r"`relation_in` applied to '\(int, int\)'"),
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


def test_threads_evaluate_in_parallel():
    def work(number: int) -> list[int]:
        return [value(f"[1, 2].map(x, x + n + {more})[1]", n=number) for more in range(20)]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(8))) == [[2 + number + more for more in range(20)] for number in range(8)]


def test_a_higher_limit_of_recursion_stays():
    before = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(4321)
        assert value("1 + 4321") == 4322
        assert sys.getrecursionlimit() == 4321
    finally:
        sys.setrecursionlimit(before)


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
