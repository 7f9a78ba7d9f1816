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
        ({"n.m": {"$in": [1]}}, "`\\$in` of field `n.m`"),
        ({"n": [{"m": {"$gt": None}}]}, r"`\$gt` of field `n\[0\].m` compares"),
        ({"n": object()}, "must contain JSON values"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(face: Face, filter: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        face.search(("f",), filter=filter)


def test_objects_and_lists_are_matched_at_any_depth(face: Face):
    deep: Any = [1]
    for level in range(30):
        deep = {"a": deep, "b": level}
    face.put(("f",), "deep", deep)
    face.put(("f",), "other", {"a": {"a": 1}})
    assert face.keys(("f",), filter=deep) == ["deep"]
    assert face.keys(("f",), filter={"a": {"$eq": deep["a"]}}) == ["deep"]
    assert face.keys(("f",), filter={"a": {"$ne": deep["a"]}}) == ["other"]
    with pytest.raises(ValueError, match="cannot name the field"):
        face.search(("f",), filter={'a"b': 1})
