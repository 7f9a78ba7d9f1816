"""Filters of values."""

from typing import Any

import pytest

from storage.store.store_face import Face


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
