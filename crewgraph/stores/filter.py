"""Filters of values as SQL. Fields and operands are parameters always: no text of a filter becomes text of a statement."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

__all__ = ["Condition", "condition_of"]

_COMPARISONS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_DEPTH = 6  # objects within objects: the stack of SQLite's parser is not deep
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_TEXT = "'text'"
_NUMBERS = "'integer', 'real', 'true', 'false'"
_INTEGERS = range(-(1 << 63), 1 << 63)


class Condition(NamedTuple):
    """A condition of a WHERE clause."""

    sql: str
    parameters: tuple[Any, ...]


_TRUE = Condition("1", ())


def condition_of(filter: Mapping[str, Any] | None, column: str) -> Condition:
    """The condition that a JSON object in a column passes a filter.

    Args:
        filter: fields to values they must equal, or to operators (`$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`); an object
            of fields looks into the field, a list is compared item by item. Numbers are compared with numbers, texts with
            texts. A field that is not there is as one that is null.
        column: of the statement, ours.

    Raises:
        ValueError: an operator is unknown, or compares what has no order.
    """
    return _all(_field(column, name, wanted, _DEPTH) for name, wanted in (filter or {}).items())


def _field(json: str, name: str, wanted: Any, depth: int) -> Condition:
    if not depth:
        raise ValueError(f"A filter may hold {_DEPTH} objects within each other, this one holds more.")
    if not isinstance(name, str) or name.startswith("$"):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"Unsupported operator: `{name}` stands where the name of a field belongs.")
    if operators := _operators(wanted):
        return _all(_operation(json, name, operator, operand, depth) for operator, operand in operators.items())
    return _at(json, name, wanted, depth, exactly=False)


def _operators(wanted: Any) -> Mapping[str, Any] | None:
    if not isinstance(wanted, Mapping):
        return None
    operators = cast("Mapping[str, Any]", wanted)
    return operators if any(str(key).startswith("$") for key in operators) else None


def _operation(json: str, name: str | int, operator: str, operand: Any, depth: int) -> Condition:
    if operator == "$eq":
        return _at(json, name, operand, depth, exactly=True)
    if operator == "$ne":
        sql, parameters = _at(json, name, operand, depth, exactly=True)
        return Condition(f"NOT ({sql})", parameters)
    if operator not in _COMPARISONS:
        known = ", ".join(f"`{one}`" for one in ("$eq", "$ne", *_COMPARISONS))
        raise ValueError(f"Unsupported operator: `{operator}` of field `{name}`. There are {known}.")
    if not isinstance(operand, (str, int, float)):
        raise ValueError(f"`{operator}` of field `{name}` compares numbers or texts, not {operand!r}.")
    return _scalar(json, name, _COMPARISONS[operator], operand, depth)


def _scalar(json: str, name: str | int, comparison: str, operand: str | float, depth: int) -> Condition:
    kinds = _TEXT if isinstance(operand, str) else _NUMBERS
    if isinstance(name, str) and _PLAIN.fullmatch(name):  # twice as quick, but its paths cannot hold every name
        path = f'$."{name}"'
        sql = f"(json_extract({json}, ?) {comparison} ? AND json_type({json}, ?) IN ({kinds})) IS TRUE"
        return Condition(sql, (path, _bound(operand), path))
    j = _alias(depth)
    test = Condition(f"{j}.type IN ({kinds}) AND {j}.atom {comparison} ?", (_bound(operand),))
    return _exists(json, name, test, depth)


def _at(json: str, name: str | int, wanted: Any, depth: int, *, exactly: bool) -> Condition:
    if isinstance(wanted, (str, int, float)):
        return _scalar(json, name, "=", wanted, depth)
    if wanted is None:  # not there is as null
        present = Condition(f"{_alias(depth)}.type != 'null'", ())
        sql, parameters = _exists(json, name, present, depth)
        return Condition(f"NOT {sql}", parameters)
    return _exists(json, name, _equals(wanted, depth, exactly=exactly), depth)


def _equals(wanted: Any, depth: int, *, exactly: bool) -> Condition:
    j = _alias(depth)
    if isinstance(wanted, Mapping):
        return _object(cast("Mapping[str, Any]", wanted), depth, exactly=exactly)
    if isinstance(wanted, (list, tuple)):
        return _array(cast("Sequence[Any]", wanted), depth, exactly=exactly)
    if wanted is not None and not isinstance(wanted, (str, int, float)):
        raise ValueError(f"A filter holds what JSON can hold, not {wanted!r}.")
    kinds = _TEXT if isinstance(wanted, str) else _NUMBERS
    return Condition(f"{j}.type IN ({kinds}) AND {j}.atom = ?", (_bound(wanted),))


def _object(wanted: Mapping[str, Any], depth: int, *, exactly: bool) -> Condition:
    j = _alias(depth)
    parts = [Condition(f"{j}.type = 'object'", ())]
    if exactly:
        parts.append(Condition(f"(SELECT count(*) FROM json_each({j}.value)) = ?", (len(wanted),)))
        parts += [_exists(f"{j}.value", name, _whole(value, depth - 1), depth - 1) for name, value in wanted.items()]
    else:
        parts += [_field(f"{j}.value", name, value, depth - 1) for name, value in wanted.items()]
    return _all(parts)


def _array(wanted: Sequence[Any], depth: int, *, exactly: bool) -> Condition:
    j = _alias(depth)
    parts = [
        Condition(f"{j}.type = 'array'", ()),
        Condition(f"json_array_length({j}.value) = ?", (len(wanted),)),
    ]
    for place, value in enumerate(wanted):
        if not exactly and (operators := _operators(value)):
            parts += [_operation(f"{j}.value", place, one, operand, depth - 1) for one, operand in operators.items()]
        else:
            test = _whole(value, depth - 1, exactly=exactly)
            parts.append(_exists(f"{j}.value", place, test, depth - 1))
    return _all(parts)


def _whole(wanted: Any, depth: int, *, exactly: bool = True) -> Condition:
    """Like `_equals`, where a null must be there."""
    if depth <= 0:
        raise ValueError(f"A filter may hold {_DEPTH} objects within each other, this one holds more.")
    return (
        Condition(f"{_alias(depth)}.type = 'null'", ()) if wanted is None else _equals(wanted, depth, exactly=exactly)
    )


def _exists(json: str, name: str | int, test: Condition, depth: int) -> Condition:
    j = _alias(depth)
    sql = f"EXISTS (SELECT 1 FROM json_each({json}) AS {j} WHERE {j}.key = ? AND {test.sql})"
    return Condition(sql, (name, *test.parameters))


def _all(conditions: Iterator[Condition] | Sequence[Condition]) -> Condition:
    found = list(conditions)
    if not found:
        return _TRUE
    parameters = tuple(parameter for one in found for parameter in one.parameters)
    return Condition(f"({' AND '.join(one.sql for one in found)})", parameters)


def _alias(depth: int) -> str:
    return f"j{depth}"


def _bound(value: Any) -> Any:
    return float(value) if isinstance(value, int) and value not in _INTEGERS else value
