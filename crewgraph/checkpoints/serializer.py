"""How values become bytes: msgpack and an allow-list, nothing that can run."""

import json
from collections.abc import Iterable
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

__all__ = ["StrictSerializer"]


class StrictSerializer(JsonPlusSerializer):
    """LangGraph's serializer with its doors closed: no pickle, and no class but built-in and message types.

    Bytes that were tampered with become inert data: a class that is not allowed is read as a dict of its
    fields, and JSON is read as JSON, without constructors.
    """

    def __init__(self, *, allowed: Iterable[tuple[str, ...] | type] = ()) -> None:
        super().__init__(
            pickle_fallback=False, allowed_json_modules=None, allowed_msgpack_modules=tuple(allowed) or None
        )

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        if data[0] == "json":
            return json.loads(data[1])
        return super().loads_typed(data)
