"""The state of a flow: the user's model, or a TypedDict of the keys that are used, and the results that methods pass on."""

from collections.abc import Sequence
from typing import Any, cast

from pydantic import BaseModel

from crewgraph.definitions.flow.flow import Flow
from crewgraph.schema import json_schema
from crewgraph_compat.eject.flow.method import MethodWriter
from crewgraph_compat.eject.writing.parts import ProgramWriters
from crewgraph_compat.eject.writing.sheet import class_name

__all__ = ["FlowStateWriter"]

_RANK = 11
_EMPTY = {"str": '""', "int": "0", "float": "0.0", "bool": "False", "list": "[]", "dict": "{}"}


class FlowStateWriter:
    """Writes the state of a flow.

    Args:
        source: what states are made of: a model, its class, a dict, or nothing.
        flow: whose it is.
        parts: the program, and those who write parts of it.
        methods: what uses it.
    """

    def __init__(self, source: Any, flow: "Flow[Any]", parts: ProgramWriters, methods: Sequence[MethodWriter]) -> None:
        self._source, self._flow, self._parts, self._methods = source, flow, parts, methods
        kind = type(source) if isinstance(source, BaseModel) else source
        self.model: type[BaseModel] | None = kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None
        self.plain = self.whole = "State"
        """The user's own class, and that of the graph, which has what methods hand on, too."""

        self.needs_id = False
        """Whether its `id`, which it has of crewgraph, is read."""

        self._grows: set[str] = set()

    @property
    def is_dict(self) -> bool:
        """Whether it is a dict."""
        return self.model is None

    @property
    def fields(self) -> list[str]:
        """Its fields that are used."""
        used = dict.fromkeys(
            name for method in self._methods for name in [*method.touched.reads, *method.touched.writes]
        )
        return list(self.model.model_fields) if self.model is not None else list(used)

    def read(self) -> None:
        """Bring in the user's class."""
        where = f"the state of flow `{type(self._flow).__name__}`"
        self.needs_id = any("id" in method.touched.reads for method in self._methods) and "id" not in self._own_fields()
        if self.needs_id and self.model is None:
            self._parts.refusals.add(where, "its `id` is crewgraph's; give the state an `id` of its own")
        if self.model is not None:
            self.plain = self.whole = self._parts.lifter.value(self.model, where) or "State"
        if isinstance(self._source, type) and self.model is None and self._source is not dict:
            self._parts.refusals.add(where, f"a `{self._source.__name__}` is neither a pydantic model nor a dict")

    def _own_fields(self) -> set[str]:
        if self.model is None:
            return set(self._given)
        return set(self.model.model_fields)

    def write(self, handed: dict[str, str], grows: set[str]) -> None:
        """Write its class.

        Args:
            handed: the keys of what methods hand on, and their types.
            grows: fields that several methods add to at once.
        """
        sheet = self._parts.sheet
        self._grows = grows
        if any("Any" in kind for kind in handed.values()) or self.is_dict:
            sheet.use("typing", "Any")
        if self.is_dict:
            self._write_dict(handed)
            return
        if not handed and not grows and not self.needs_id:
            return
        self.whole = sheet.names.new(f"{type(self._flow).__name__}State", "OfGraph")
        lines = [f"    {name}: {kind} = {_EMPTY.get(kind, 'None')}" for name, kind in handed.items()]
        lines = [*(self._growing(name) for name in sorted(grows)), *lines]
        if self.needs_id:
            sheet.use("pydantic", "Field")
            sheet.use("uuid", "uuid4")
            lines.insert(0, "    id: str = Field(default_factory=lambda: str(uuid4()))")
        listed = "\n".join(lines)
        sheet.add(
            f'class {self.whole}({self.plain}):\n    """The state, and what methods hand on."""\n\n{listed}', _RANK
        )

    def _growing(self, name: str) -> str:
        sheet = self._parts.sheet
        sheet.module("operator")
        sheet.use("typing", "Annotated")
        assert self.model is not None
        described: Any = json_schema(self.model)["properties"].get(name, {})
        kinds = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
        inner = kinds.get(described.get("items", {}).get("type", ""), "Any")
        if inner == "Any":
            sheet.use("typing", "Any")
        return f"    {name}: Annotated[list[{inner}], operator.add] = []"

    def _write_dict(self, handed: dict[str, str]) -> None:
        sheet = self._parts.sheet
        sheet.use("typing", "TypedDict")
        self.plain = self.whole = sheet.names.new("State", f"Of{class_name(type(self._flow).__name__)}")
        lines: list[str] = []
        for name in dict.fromkeys([*self._given, *self.fields]):
            kind = "Any"
            if name in self._grows:
                sheet.module("operator")
                sheet.use("typing", "Annotated")
                kind = "Annotated[list[Any], operator.add]"
            lines.append(f"    {name}: {kind}")
        lines += [f"    {name}: {kind}" for name, kind in handed.items()]
        listed = "\n".join(lines)
        sheet.add(f'class {self.whole}(TypedDict):\n    """What the methods read and write."""\n\n{listed}', _RANK)

    def get(self, name: str) -> str:
        """The expression for a field."""
        return f'state["{name}"]' if self.is_dict else f"state.{name}"

    def before(self, writes: Sequence[str]) -> list[str]:
        """Lines before a method that changes fields.

        Lists that several methods add to at once are copied: what runs at once is given the same objects.
        """
        lines: list[str] = []
        for name in writes:
            if name in self._grows:
                read = f'state.get("{name}", [])' if self.is_dict else f"state.{name}"
                lines += [f"{self.get(name)} = list({read})", f"{name}_before = len({self.get(name)})"]
        return lines

    def update(self, writes: Sequence[str]) -> list[tuple[str, str]]:
        """What a method gives back for the fields that it changes."""
        known = self.fields
        return [
            (name, f"{self.get(name)}[{name}_before:]" if name in self._grows else self.get(name))
            for name in writes
            if name in known
        ]

    def first(self) -> str:
        """The expression for the values that a run begins with, as a dict; empty where there are none."""
        state: Any = self._flow.state
        if self._flow.method_outputs:  # what a run has left there is no beginning
            state = self._source
        if isinstance(state, BaseModel):
            values: Any = state.model_dump(mode="json", exclude_defaults=True)
        else:
            values = cast("dict[str, Any]", state) if isinstance(state, dict) else {}
        return repr(remaining) if (remaining := {name: item for name, item in values.items() if name != "id"}) else ""

    @property
    def _given(self) -> dict[str, Any]:
        """The dict that states are made of, if it is one."""
        source: Any = self._source
        return source if isinstance(source, dict) else {}  # pyright: ignore[reportUnknownVariableType]
