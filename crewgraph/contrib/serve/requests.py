"""The bodies of requests. Parts of the protocol that this server lacks are refused by name, never ignored."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib.metadata import version
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from crewgraph.contrib.serve.records import MAX_DELAY, RunStatus
from crewgraph.schema import PlainDict, is_object
from crewgraph.text import UNSTORABLE

_STREAM_MODES = (
    *("values", "updates", "messages", "messages-tuple", "tools", "custom", "events", "debug", "tasks", "checkpoints"),
)

_IN_PATH = re.compile(r"{(\w+)}")
_MAX_DEPTH = 100  # levels of lists and objects: whatever reads or writes them recurses
_INTEGERS = range(-(2**63), 2**64)  # that JSON writers and msgpack have


def json_object(body: bytes) -> PlainDict:
    """Return the JSON object in a body; an empty body is an empty one.

    Raises:
        ValueError: it is not a JSON object, or holds values that the server's databases cannot store.
    """
    try:
        data: object = json.loads(body) if body else {}
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise ValueError(f"the body is not valid JSON: {error}") from None
    if not is_object(data):
        raise ValueError("the body must be a JSON object")
    level: list[Any] = [data]
    for _ in range(_MAX_DEPTH):
        level = [value for container in level for value in _containers_in(container)]
        if not level:
            return data
    raise _too_deep()


def _too_deep() -> ValueError:
    return ValueError(f"the body is nested too deeply; the limit is {_MAX_DEPTH} levels of lists and objects")


def _containers_in(container: Any) -> list[Any]:
    """Return the lists and dicts in a list or a dict, whose other values are checked."""
    found: list[Any] = []
    if is_object(container):
        for name in container:
            _check_text(name)
        container = container.values()
    for value in container:
        if isinstance(value, (list, dict)):
            found.append(value)
        elif isinstance(value, str):
            _check_text(value)
        elif isinstance(value, int) and value not in _INTEGERS:
            raise ValueError(
                f"the body holds an integer of {value.bit_length()} bits; 64 are the limit, send it as a string"
            )
        elif isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"the body holds the number {value}, which JSON does not have")
    return found


def _check_text(text: str) -> None:
    if fault := UNSTORABLE.search(text):
        around = text[max(fault.start() - 20, 0) : fault.end() + 20]
        raise ValueError(
            f"the body holds a NUL or a surrogate (half of a character) in {ascii(around)}, which not every database stores; "
            "take it out"
        )


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        return {name: value for name, value in data.items() if value is not None} if is_object(data) else data


class _Page(_Body):
    limit: int = Field(10, ge=1, le=1000)
    offset: int = Field(0, ge=0)
    select: list[str] | None = None


class _Config(BaseModel):
    """The part of a config that clients may give."""

    model_config = ConfigDict(extra="ignore")

    tags: list[str] = Field(default_factory=list)
    recursion_limit: int | None = None
    configurable: PlainDict = Field(default_factory=dict)

    @model_validator(mode="after")
    def _without_machinery(self) -> Self:
        inner = [name for name in self.configurable if name.startswith(("__", "checkpoint_"))]
        if inner:
            raise ValueError(f"`configurable` must not hold {', '.join(f'`{name}`' for name in inner)}")
        return self


class AssistantCreate(_Body):
    """A new assistant."""

    graph_id: str
    assistant_id: str | None = None
    name: str | None = None
    description: str | None = None
    config: _Config = Field(default_factory=_Config)
    context: PlainDict = Field(default_factory=dict)
    metadata: PlainDict = Field(default_factory=dict)
    if_exists: Literal["raise", "do_nothing"] = "raise"


class AssistantPatch(_Body):
    """Changes of an assistant."""

    graph_id: str | None = None
    name: str | None = None
    description: str | None = None
    config: _Config | None = None
    context: PlainDict | None = None
    metadata: PlainDict | None = None


class AssistantSearch(_Page):
    """Which assistants to list."""

    graph_id: str | None = None
    name: str | None = None
    metadata: PlainDict | None = None
    sort_by: Literal["created_at", "updated_at", "assistant_id", "graph_id", "name"] = "created_at"
    sort_order: Literal["asc", "desc"] = "desc"


class ThreadCreate(_Body):
    """A new thread."""

    thread_id: str | None = None
    metadata: PlainDict = Field(default_factory=dict)
    if_exists: Literal["raise", "do_nothing"] = "raise"


class ThreadPatch(_Body):
    """Metadata to add to a thread."""

    metadata: PlainDict = Field(default_factory=dict)


class ThreadSearch(_Page):
    """Which threads to list."""

    metadata: PlainDict | None = None
    ids: list[str] | None = None
    status: Literal["idle", "busy", "interrupted", "error"] | None = None
    sort_by: Literal["created_at", "updated_at", "thread_id", "status"] = "created_at"
    sort_order: Literal["asc", "desc"] = "desc"


class HistoryQuery(_Body):
    """Which states of a thread to list."""

    limit: int = Field(10, ge=1, le=1000)
    before: PlainDict | str | None = None
    metadata: PlainDict | None = None
    checkpoint: PlainDict | None = None


class StateQuery(_Body):
    """Which state of a thread to show."""

    checkpoint: PlainDict | None = None
    subgraphs: bool = False


class StateUpdate(_Body):
    """An edit of a thread's state."""

    values: Any = None
    as_node: str | None = None
    checkpoint: PlainDict | None = None
    checkpoint_id: str | None = None


class RunsQuery(_Page):
    """Which runs of a thread to list."""

    status: RunStatus | None = None


class RunCreate(_Body):
    """A new run."""

    assistant_id: str
    input: Any = None
    command: PlainDict | None = None
    config: _Config = Field(default_factory=_Config)
    context: PlainDict = Field(default_factory=dict)
    metadata: PlainDict = Field(default_factory=dict)
    checkpoint: PlainDict | None = None
    checkpoint_id: str | None = None
    interrupt_before: list[str] | Literal["*"] | None = None
    interrupt_after: list[str] | Literal["*"] | None = None
    stream_mode: list[str] | str = "values"
    stream_subgraphs: bool = False
    stream_resumable: bool = False
    multitask_strategy: Literal["reject", "enqueue", "interrupt", "rollback"] = "enqueue"
    if_not_exists: Literal["create", "reject"] = "reject"
    on_disconnect: Literal["cancel", "continue"] = "continue"
    on_completion: Literal["delete", "keep"] = "delete"
    after_seconds: float = Field(0, ge=0, le=MAX_DELAY)
    durability: Literal["sync", "async", "exit"] = "sync"
    checkpoint_during: bool | None = None
    raise_error: bool | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        modes = [self.stream_mode] if isinstance(self.stream_mode, str) else self.stream_mode
        if unknown := [mode for mode in modes if mode not in _STREAM_MODES]:
            raise ValueError(f"`stream_mode` {unknown[0]!r} is not served; there are {', '.join(_STREAM_MODES)}")
        self.stream_mode = modes or ["values"]
        if self.checkpoint_id is not None:
            self.checkpoint = {**(self.checkpoint or {}), "checkpoint_id": self.checkpoint_id}
        for name in ("checkpoint_id", "checkpoint_ns"):
            if not isinstance((self.checkpoint or {}).get(name, ""), str):
                raise ValueError(f"`{name}` of `checkpoint` must be a text")
        if self.command == {}:
            raise ValueError("`command` is empty; it takes `resume`, `update` and `goto`")
        if self.command is not None and (unknown := self.command.keys() - {"resume", "update", "goto"}):
            raise ValueError(f"`command` has {', '.join(map(repr, unknown))}; it takes `resume`, `update` and `goto`")
        return self


_INPUT = ".input"


def openapi(
    routes: Sequence[tuple[str, str, Callable[..., Any], type[BaseModel] | None]], inputs: Mapping[str, PlainDict]
) -> PlainDict:
    """Return the OpenAPI document of a server.

    Args:
        routes: The method, the path, the handler and the form of the body of each; of GET, that of the query.
        inputs: The JSON schemas of the served graphs' inputs.
    """
    paths: dict[str, PlainDict] = {}
    schemas: PlainDict = {f"{name}{_INPUT}": schema for name, schema in inputs.items()}
    for method, path, handler, body in routes:
        summary = handler.__name__.strip("_").replace("_", " ").capitalize()
        answers = {"200": {"description": "Done"}, "4XX": {"description": "Refused; `detail` says why"}}
        named = [
            {"name": one, "in": "path", "required": True, "schema": {"type": "string"}}
            for one in _IN_PATH.findall(path)
        ]
        operation: PlainDict = {"summary": summary, "parameters": named, "responses": answers}
        if body is not None and method != "GET":
            described = body.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas |= {**described.pop("$defs", {}), body.__name__: described}
            schema = {"$ref": f"#/components/schemas/{body.__name__}"}
            operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
        paths.setdefault(path, {})[method.lower()] = operation
    about = {"title": "crewgraph serve", "version": version("crewgraph")}
    return {"openapi": "3.1.0", "info": about, "paths": paths, "components": {"schemas": schemas}}


def docs_page(document: PlainDict) -> str:
    """Return the routes and the inputs of an OpenAPI document as an HTML page, which fetches nothing."""
    title, schemas = escape(document["info"]["title"]), document["components"]["schemas"]
    rows = [
        f"<tr><td>{method.upper()}</td><td><code>{escape(path)}</code></td><td>{operation['summary']}</td></tr>"
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    inputs = [
        f"<h3>{escape(name)}</h3><pre>{escape(json.dumps(schema, indent=2, ensure_ascii=False))}</pre>"
        for name, schema in schemas.items()
        if name.endswith(_INPUT)
    ]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        "<style>body{font:1rem sans-serif;margin:2rem}td{padding:.2rem 1rem .2rem 0}</style>"
        f'<h1>{title}</h1><p>Bodies and their schemas are in <a href="openapi.json">openapi.json</a>.</p>'
        f"<table>{''.join(rows)}</table><h2>Inputs</h2>{''.join(inputs)}</html>"
    )
