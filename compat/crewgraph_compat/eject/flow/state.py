"""The state of a flow: the user's model or a TypedDict of the used keys, and the results that methods pass on."""

from collections.abc import Sequence
from typing import Any, cast

from pydantic import BaseModel

from crewgraph.definitions.flow.flow import FlowDefinition
from crewgraph.schema import json_schema
from crewgraph_compat.eject.flow.method import MethodWriter
from crewgraph_compat.eject.writing.parts import ProgramWriters
from crewgraph_compat.eject.writing.sheet import class_name

_RANK = 11
_EMPTY = {"str": '""', "int": "0", "float": "0.0", "bool": "False", "list": "[]", "dict": "{}"}


class FlowStateWriter:
    """Write the state of a flow.

    Args:
        source: the initial state: a model, its class, a dict, or nothing.
        flow: the flow that owns the state.
        parts: the program and the writers of its parts.
        methods: the writers of the methods that use it.
    """

    def __init__(
        self, source: Any, flow: "FlowDefinition[Any]", parts: ProgramWriters, methods: Sequence[MethodWriter]
    ) -> None:
        self._source, self._flow, self._parts, self._methods = source, flow, parts, methods
        kind = type(source) if isinstance(source, BaseModel) else source
        self.model: type[BaseModel] | None = kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None
        self.own_class = self.graph_class = "State"
        """The user's class, and the graph's class, which adds the values passed between methods."""

        self.needs_id = False
        """Whether the `id` that crewgraph adds is read."""

        self._appended: set[str] = set()

    @property
    def is_dict(self) -> bool:
        """Whether the state is a dict."""
        return self.model is None

    @property
    def fields(self) -> list[str]:
        """Return the fields that are used."""
        used = dict.fromkeys(
            name for method in self._methods for name in [*method.touched.reads, *method.touched.writes]
        )
        return list(self.model.model_fields) if self.model is not None else list(used)

    def read(self) -> None:
        """Add the user's class."""
        where = f"the state of flow `{type(self._flow).__name__}`"
        reads_id = any("id" in method.touched.reads or method.needs_whole for method in self._methods)
        self.needs_id = reads_id and "id" not in self._own_fields()
        if self.model is not None:
            self.own_class = self.graph_class = self._parts.lifter.value(self.model, where) or "State"
        if isinstance(self._source, type) and self.model is None and self._source is not dict:
            self._parts.refusals.add(where, f"a `{self._source.__name__}` is neither a pydantic model nor a dict")

    def _own_fields(self) -> set[str]:
        if self.model is None:
            return set(self._initial_dict)
        return set(self.model.model_fields)

    def write(self, passed: dict[str, str], appended: set[str]) -> None:
        """Write the state class.

        Args:
            passed: the keys of passed values, with their types.
            appended: the list fields that several methods append to concurrently.
        """
        sheet = self._parts.sheet
        self._appended = appended
        if any("Any" in kind for kind in passed.values()) or self.is_dict:
            sheet.use("typing", "Any")
        if self.is_dict:
            self._write_dict(passed)
            return
        if self.needs_id:
            sheet.use("pydantic", "Field")
            sheet.use("uuid", "uuid4")
            self._extend(
                "The state, with the id of the run.", ["id: str = Field(default_factory=lambda: str(uuid4()))"]
            )
            self.own_class = self.graph_class
        if passed or appended:
            lines = [f"{name}: {kind} = {_EMPTY.get(kind, 'None')}" for name, kind in passed.items()]
            lines = [*(self._appended_field(name) for name in sorted(appended)), *lines]
            self._extend("The state, and the results that methods pass on.", lines)
        if self._parts.shows_state(self._flow):
            own = self.own_class
            read = f"{own}.model_construct(**{{name: getattr(state, name) for name in {own}.model_fields}})"
            self._write_own_state(own, read if self.graph_class != own else "state")

    def _extend(self, summary: str, lines: Sequence[str]) -> None:
        """Write a class that adds fields to the state, and use it from now on."""
        base, sheet = self.graph_class, self._parts.sheet
        self.graph_class = sheet.names.new(f"{type(self._flow).__name__}State", "OfGraph")
        listed = "\n".join(f"    {line}" for line in lines)
        sheet.add(f'class {self.graph_class}({base}):\n    """{summary}"""\n\n{listed}', _RANK)

    def _write_own_state(self, own: str, read: str) -> None:
        name = self._parts.own_state(self._flow)
        message = '"""Return the state without the results that methods pass on."""'
        self._parts.sheet.add(
            f"def {name}(state: {self.graph_class}) -> {own}:\n    {message}\n    return {read}", _RANK
        )

    def _appended_field(self, name: str) -> str:
        sheet = self._parts.sheet
        sheet.module("operator")
        sheet.use("typing", "Annotated")
        assert self.model is not None
        described: Any = json_schema(self.model)["properties"].get(name, {})
        kinds = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
        inner = kinds.get(described.get("items", {}).get("type", ""), "Any")
        if inner == "Any":
            sheet.use("typing", "Any")
        return f"{name}: Annotated[list[{inner}], operator.add] = []"

    def _write_dict(self, passed: dict[str, str]) -> None:
        sheet = self._parts.sheet
        sheet.use("typing", "TypedDict")
        self.own_class = self.graph_class = sheet.names.new("State", f"Of{class_name(type(self._flow).__name__)}")
        lines: list[str] = []
        for name in dict.fromkeys([*(["id"] if self.needs_id else []), *self._initial_dict, *self.fields]):
            kind = "Any"
            if name in self._appended:
                sheet.module("operator")
                sheet.use("typing", "Annotated")
                kind = "Annotated[list[Any], operator.add]"
            lines.append(f"    {name}: {kind}")
        lines += [f"    {name}: {kind}" for name, kind in passed.items()]
        listed = "\n".join(lines)
        sheet.add(
            f'class {self.graph_class}(TypedDict):\n    """The fields that the methods read and write."""\n\n{listed}',
            _RANK,
        )
        if self._parts.shows_state(self._flow):
            hidden = ", ".join(f'"{name}"' for name in passed)
            read = f"{{name: value for name, value in state.items() if name not in ({hidden},)}}"
            self._write_own_state("dict[str, Any]", read if passed else "dict(state)")

    def get(self, name: str) -> str:
        """Return the expression for a field."""
        return f'state["{name}"]' if self.is_dict else f"state.{name}"

    def before(self, writes: Sequence[str]) -> list[str]:
        """Return the lines before a method that changes fields.

        Lists that several methods append to concurrently are copied, because concurrent nodes receive the same objects.
        """
        lines: list[str] = []
        for name in writes:
            if name in self._appended:
                read = f'state.get("{name}", [])' if self.is_dict else f"state.{name}"
                lines += [f"{self.get(name)} = list({read})", f"{name}_before = len({self.get(name)})"]
        return lines

    def update(self, writes: Sequence[str]) -> list[tuple[str, str]]:
        """Return the state update for the fields that a method changes."""
        known = self.fields
        return [
            (name, f"{self.get(name)}[{name}_before:]" if name in self._appended else self.get(name))
            for name in writes
            if name in known
        ]

    def id_node(self, function: str) -> str:
        """Return the function of the node that gives a run its id."""
        read = "state.id"
        if self.is_dict:
            self._parts.sheet.use("uuid", "uuid4")
            read = 'state.get("id") or str(uuid4())'
        message = '"""Give the run an id if it has none."""'
        return (
            f'def {function}(state: {self.graph_class}) -> dict[str, str]:\n    {message}\n    return {{"id": {read}}}'
        )

    def initial_values(self) -> str:
        """Return the expression for the initial values as a dict; empty if there are none."""
        state: Any = self._flow.state
        if self._flow.method_outputs:  # the values left by a run are not initial values
            state = self._source
        if isinstance(state, BaseModel):
            values: Any = state.model_dump(mode="json", exclude_defaults=True)
        else:
            values = cast("dict[str, Any]", state) if isinstance(state, dict) else {}
        return repr(remaining) if (remaining := {name: item for name, item in values.items() if name != "id"}) else ""

    @property
    def _initial_dict(self) -> dict[str, Any]:
        """Return the dict that initializes states, if it is one."""
        source: Any = self._source
        return source if isinstance(source, dict) else {}  # pyright: ignore[reportUnknownVariableType]
