"""Filters of values."""

from typing import Any

import pytest

from storage.store.store_face import Face

_VALUES: dict[str, dict[str, Any]] = {
    "1": {"n": 1, "s": "a", "b": True, "z": None, "l": [1, 2], "d": {"x": 1, "y": {"k": "v"}}, "t": "10"},
    "2": {"n": 2.5, "s": "b", "b": False, "l": [1], "d": {"x": 2}, "o": [{"a": 1}, {"a": 2}]},
    "3": {"n": "1", "s": "", "d": {}, "l": []},
}


@pytest.mark.parametrize(
    ("filter", "keys"),
    [
        ({}, "123"),
        (None, "123"),
        ({"n": 1}, "1"),
        ({"n": 1.0}, "1"),
        ({"n": "1"}, "3"),
        ({"n": {"$eq": 2.5}}, "2"),
        ({"n": {"$ne": 1}}, "23"),
        ({"n": {"$gt": 1}}, "2"),
        ({"n": {"$gte": 1}}, "12"),
        ({"n": {"$lt": 2.5}}, "1"),
        ({"n": {"$lte": 2.5, "$gt": 0}}, "12"),
        ({"n": {"$gt": "0"}}, "3"),
        ({"s": {"$gt": "a"}}, "2"),
        ({"s": {"$lte": "a"}}, "13"),
        ({"s": "a", "n": 1}, "1"),
        ({"s": "a", "n": 2.5}, ""),
        ({"b": True}, "1"),
        ({"b": False}, "2"),
        ({"b": {"$ne": True}}, "23"),
        ({"z": None}, "123"),
        ({"b": None}, "3"),
        ({"b": {"$ne": None}}, "12"),
        ({"l": [1, 2]}, "1"),
        ({"l": {"$eq": [1]}}, "2"),
        ({"l": []}, "3"),
        ({"l": [{"$gt": 0}]}, "2"),
        ({"l": {"$ne": [1]}}, "13"),
        ({"d": {"x": 1}}, "1"),
        ({"d": {"x": {"$gte": 1}}}, "12"),
        ({"d": {"y": {"k": "v"}}}, "1"),
        ({"d": {"y": {"k": {"$ne": "w"}}}}, "1"),
        ({"d": {"$eq": {"x": 2}}}, "2"),
        ({"d": {"$eq": {"x": 1}}}, ""),
        ({"d": {"$eq": {"y": {"k": "v"}, "x": 1}}}, "1"),
        ({"d": {}}, "123"),
        ({"d": {"$eq": {}}}, "3"),
        ({"d": '{"x":2}'}, ""),
        ({"o": [{"a": 1}, {"a": {"$gt": 1}}]}, "2"),
        ({"o": [{"a": 1}]}, ""),
        ({"missing": {"$gt": 0}}, ""),
        ({"missing": {"$ne": 0}}, "123"),
        ({"n": 10**30}, ""),
    ],
)
def test_a_filter_lets_pass(face: Face, filter: dict[str, Any], keys: str):
    for key, value in _VALUES.items():
        face.put(("f",), key, value | {"text": "tea"})
    assert "".join(sorted(face.keys(("f",), filter=filter))) == keys
    assert "".join(sorted(face.keys(("f",), filter=filter, query="tea"))) == keys


@pytest.mark.parametrize(
    ("filter", "message"),
    [
        ({"n": {"$in": [1]}}, "Unsupported operator: `\\$in` of field `n`"),
        ({"$or": [{"n": 1}]}, "Unsupported operator: `\\$or` is not a field name"),
        ({"n": {"$gt": 1, "x": 2}}, "Unsupported operator: `x`"),
        ({"n": {"$gt": None}}, "compares numbers or texts"),
        ({"n": {"$lt": [1]}}, "compares numbers or texts"),
        ({"n": object()}, "must contain JSON values"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(face: Face, filter: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        face.search(("f",), filter=filter)


def nested(depth: int, leaf: Any) -> dict[str, Any]:
    value: Any = leaf
    for level in range(depth):
        value = {"a": value, "b": level}
    return value


def test_a_filter_is_not_deeper_than_sqlite_can_go(face: Face):
    face.put(("f",), "k", nested(9, 1))
    face.put(("f",), "five", nested(5, [1]))
    assert face.keys(("f",), filter=nested(5, [1])) == ["five"]
    assert face.keys(("f",), filter=nested(5, {"$ne": [1]})) == []
    assert face.keys(("f",), filter={"a": {"$ne": nested(4, [1])["a"]}}) == ["five", "k"]
    assert face.keys(("f",), filter={"a": {"$eq": nested(5, [1])["a"]}}) == ["five"]
    for filter in (nested(7, 1), {"a": {"$eq": nested(7, 1)["a"]}}, {"l": [[[[[[1]]]]]]}):
        with pytest.raises(ValueError, match="at most 6 objects"):
            face.search(("f",), filter=filter)
