"""Secrets of definitions are in no repr, event, log, trace, JSON dump, file and row."""

import contextlib
import inspect
import json
import logging
import sqlite3
import string
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from combinations import of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.schemas import Run
from modes import Mode
from pydantic import BaseModel, SecretStr
from servers.openai_api import Answer, OpenAIServer, Request, call

from crewgraph import LLM, Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.contrib.a2a.auth import APIKeyAuth, BearerTokenAuth, HTTPBasicAuth, OAuth2ClientCredentials
from crewgraph.contrib.a2a.config import A2AClientConfig
from crewgraph.contrib.snapshots import CheckpointConfig
from crewgraph.contrib.snapshots.described import describe_definition
from crewgraph.definitions.flow.flow import FlowDefinition
from crewgraph.errors import CrewgraphError
from crewgraph.events import BaseEvent, TaskStartedEvent, crewai_event_bus
from crewgraph.events.tool import ToolUsageStartedEvent
from crewgraph.flow import Flow
from crewgraph.knowledge.knowledge import Knowledge
from crewgraph.knowledge.source.base import StringKnowledgeSource
from crewgraph.memory.memory import Memory
from crewgraph.redaction import is_secret_name, redact
from crewgraph.tools import BaseTool, tool
from crewgraph.tools.mcp.server import MCPServerHTTP, MCPServerSSE, MCPServerStdio

MARK = "Ma7k"


class Desk(BaseTool):
    """A tool with an account somewhere."""

    name: str = "desk"
    description: str = "Looks things up."
    api_key: str | None = None
    account_token: SecretStr | None = None
    url: str = "https://desk.example"
    options: dict[str, Any] = {}

    def _run(self, what: str) -> str:
        return what


def made_by(kind: Callable[..., Any], **fixed: Any) -> Callable[..., Any]:
    """Return what makes an object of some fields and one more."""

    def make(**fields: Any) -> Any:
        return kind(**{**fixed, **fields})

    return make


clerk = made_by(Agent, role="r", goal="g", backstory="b", llm="openai/gpt-4o")
work = made_by(Task, name="n", description="d", expected_output="e")


def team(**more: Any) -> Crew:
    agent = clerk()
    return made_by(Crew, name="c", agents=[agent], tasks=[work(agent=agent)])(**more)


MAKERS: dict[type[Any], Callable[..., Any]] = {
    Agent: clerk,
    Task: work,
    Crew: team,
    Desk: Desk,
    MCPServerHTTP: made_by(MCPServerHTTP, url="https://mcp.example"),
    MCPServerSSE: made_by(MCPServerSSE, url="https://mcp.example"),
    MCPServerStdio: made_by(MCPServerStdio, command="serve"),
    StringKnowledgeSource: made_by(StringKnowledgeSource, content="c"),
    Knowledge: made_by(Knowledge, collection_name="k", sources=[]),
    CheckpointConfig: CheckpointConfig,
    A2AClientConfig: made_by(A2AClientConfig, endpoint="https://a2a.example"),
    BearerTokenAuth: made_by(BearerTokenAuth, token="t"),
    HTTPBasicAuth: made_by(HTTPBasicAuth, username="u", password="p"),
    APIKeyAuth: made_by(APIKeyAuth, api_key="k"),
    OAuth2ClientCredentials: made_by(OAuth2ClientCredentials, token_url="https://t", client_id="c", client_secret="s"),
}
"""How an object of each class is made of one more field."""

MODEL_PARAMETERS = (
    "api_key", "base_url", "api_base", "extra_headers", "default_headers", "headers", "additional_params", "extra_body",
    "aws_secret_access_key", "vertex_credentials", "azure_ad_token", "client_params", "default_query",
)  # fmt: skip


def forms(name: str, mark: str) -> Iterator[Any]:
    """Values with a secret that a field may have."""
    if is_secret_name(name):
        yield mark
        yield SecretStr(mark)
        yield {"any": {"at": [mark]}}
    if name in ("headers", "env") or name.endswith("_headers"):
        yield {"X-Any": mark}
    yield {"provider": "openai", "config": {"api_key": mark, "extra_headers": {"X-Any": mark}}}
    yield {"Authorization": f"Bearer {mark}"}
    yield f"https://user:{mark}@host.example/v1"
    yield f"https://host.example/v1?token={mark}"
    yield f"sk-proj-{mark}0123456789"
    yield [f"https://host.example/v1?token={mark}"]
    if name == "mcps":
        yield [{"url": "https://host.example", "headers": {"X-Any": mark}}]
    if name == "args":
        yield ["--token", mark, f"--api-key={mark}"]


def made(kind: type[Any], name: str, value: Any) -> Any:
    """The object with this field, or None if it does not take such a value."""
    with warnings.catch_warnings(), contextlib.suppress(CrewgraphError, TypeError, ValueError, AttributeError, OSError):
        warnings.simplefilter("ignore")
        return MAKERS[kind](**{name: value})
    return None


def shows(thing: Any) -> Iterator[tuple[str, str]]:
    """What people and storage see of an object."""
    yield "repr", repr(thing)
    yield "str", str(thing)
    yield "in a list", repr([thing])
    if isinstance(thing, BaseModel):
        with contextlib.suppress(ValueError):  # of what is no JSON
            yield "model_dump", json.dumps(thing.model_dump(mode="json"), default=str)
            yield "model_dump_json", thing.model_dump_json()
    yield "snapshot", json.dumps(describe_definition(thing))
    started = ToolUsageStartedEvent(tool_name="t", tool_args={"thing": thing}, agent_key="k", tool_class=str(thing))
    yield "event", json.dumps(started.to_json())
    yield "event repr", repr(started)
    if isinstance(thing, Task):
        event = TaskStartedEvent(context="c", task=thing)
        yield "event of the task", event.model_dump_json() + repr(event)


FIELDS = [(kind, name) for kind in MAKERS for name in kind.model_fields]
marks = st.text(string.ascii_letters + string.digits, min_size=6, max_size=12).map(lambda text: MARK + text)


@settings(max_examples=of(300, 3000), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(field=st.sampled_from(FIELDS), mark=marks, data=st.data())
def test_no_field_shows_a_secret(field: tuple[type[Any], str], mark: str, data: st.DataObject):
    kind, name = field
    thing = made(kind, name, data.draw(st.sampled_from(list(forms(name, mark)))))
    if thing is not None:
        assert [where for where, text in shows(thing) if mark in text] == []


@settings(max_examples=of(60, 600), deadline=None)
@given(name=st.sampled_from(MODEL_PARAMETERS), mark=marks, data=st.data())
def test_no_parameter_of_a_model_shows_a_secret(name: str, mark: str, data: st.DataObject):
    value = data.draw(st.sampled_from(list(forms(name, mark))))
    with contextlib.suppress(CrewgraphError, TypeError, ValueError, AttributeError):
        model = LLM("openai/gpt-4o", **cast("Any", {name: value}))
        shown = [*shows(model), *shows(clerk(llm=model)), ("state", json.dumps(redact(vars(model)), default=str))]
        assert [where for where, text in shown if mark in text] == []


class Walk(Flow[dict[str, Any]]):
    """A flow; its fields are set on the object."""


def flow_with(**fields: Any) -> Walk:
    flow = Walk()
    for name, value in fields.items():
        setattr(flow, name, value)
    return flow


PLAIN_MAKERS: dict[str, Callable[..., Any]] = {"memory": Memory, "flow": flow_with}
PLAIN_FIELDS = [
    *(("memory", name) for name in inspect.signature(Memory).parameters),
    *(("flow", name) for name in Walk.__annotations__ | FlowDefinition.__annotations__ if not name.startswith("_")),
]


@settings(max_examples=of(60, 600), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(field=st.sampled_from(PLAIN_FIELDS), mark=marks, data=st.data())
def test_no_parameter_of_a_memory_and_no_attribute_of_a_flow_shows_a_secret(
    field: tuple[str, str], mark: str, data: st.DataObject
):
    kind, name = field
    value = data.draw(st.sampled_from(list(forms(name, mark))))
    with contextlib.suppress(CrewgraphError, TypeError, ValueError, AttributeError, OSError):
        thing = PLAIN_MAKERS[kind](**{name: value})
        shown = [*shows(thing), *(shows(team(memory=thing)) if kind == "memory" else ())]
        assert [where for where, text in shown if mark in text] == []


class Tracer(BaseTracer):
    """Keeps all that a tracer gets."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def _persist_run(self, run: Run) -> None:
        self._keep(run)

    def _keep(self, run: Run) -> None:
        reported: list[Any] = [run.inputs, run.outputs, run.extra, run.serialized, run.tags, run.error, run.events]
        self.texts.append(repr(reported))
        for child in run.child_runs:
            self._keep(child)


SECRETS = {
    "key": f"{MARK}-key-1", "header": f"{MARK}-header-2", "embedder": f"{MARK}-embedder-3", "tool": f"{MARK}-tool-4",
    "token": f"{MARK}-token-5", "password": f"{MARK}-password-6", "body": f"{MARK}-body-7",
    "query": f"{MARK}-query-8",
}  # fmt: skip


def equipped(url: str, **more: Any) -> Crew:
    """A crew with a secret wherever one may be."""
    address = url.replace("http://", f"http://user:{SECRETS['password']}@")
    model = LLM(
        "openai/test",
        base_url=url,
        api_key=SECRETS["key"],
        max_retries=0,
        extra_headers={"X-Desk": SECRETS["header"]},
        extra_body={"token": SECRETS["body"]},
        default_query={"key": SECRETS["query"]},
    )
    embedder = {"provider": "openai", "config": {"api_key": SECRETS["embedder"], "base_url": url}}
    desk = Desk(api_key=SECRETS["tool"], account_token=SecretStr(SECRETS["token"]), url=address)
    knowledge = [StringKnowledgeSource(content="The sea is deep.")]
    agent = clerk(llm=model, tools=[desk], embedder=embedder, knowledge_sources=knowledge)
    return team(agents=[agent], tasks=[work(agent=agent), work(name="m", agent=agent)], checkpoint=True, **more)


def answered(request: Request) -> str | Answer:
    """A look at the desk, and then an answer."""
    if not request.body.get("tools") or any(message["role"] == "tool" for message in request.body["messages"]):
        return "a fact"
    return call("desk", {"what": "x"})


def texts_in(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.name, path.read_bytes()
        if path.suffix in (".db", ".sqlite"):
            with contextlib.closing(sqlite3.connect(path)) as connection:
                for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                    for row in connection.execute(f"SELECT * FROM {table}"):
                        yield f"{path.name}: {table}", repr(row).encode()


def test_a_run_leaves_no_secret(
    mode: Mode, tmp_path: Path, storage: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
):  # fmt: skip
    monkeypatch.chdir(tmp_path)
    tracer, reported = Tracer(), list[str]()
    caplog.set_level(logging.INFO, "crewgraph")

    def hear(source: object, event: BaseEvent) -> None:
        reported.append(event.model_dump_json() + repr(event))

    with OpenAIServer(answered) as api:
        crewai_event_bus.register_handler(BaseEvent, hear)
        try:
            crew = equipped(api.url, verbose=True, output_log_file="run.json")
            graph = mode.compile(crew)
            mode.kickoff(crew)
            mode.invoke(graph, {"inputs": {}}, {"callbacks": [tracer]})
        finally:
            crewai_event_bus.off(BaseEvent, hear)
        assert SECRETS["header"] in [request.headers.get("x-desk") for request in api.requests]
        assert SECRETS["body"] in [request.body.get("token") for request in api.requests]
    shown = capsys.readouterr()
    places = [
        *(
            (name, content.decode("utf-8", "replace"))
            for folder in (tmp_path, storage)
            for name, content in texts_in(folder)
        ),
        *(("event", text) for text in reported),
        *(("trace", text) for text in tracer.texts),
        ("console", shown.out + shown.err),
        ("log", caplog.text),
    ]
    assert {place for place, _ in places} >= {"event", "trace", "console", "run.json", "log", "runs.db: payloads"}
    assert {(place, name) for place, text in places for name, secret in SECRETS.items() if secret in text} == set()


def test_what_a_tool_raises_is_told_and_stored_without_the_keys_of_the_environment(
    mode: Mode, storage: Path, monkeypatch: pytest.MonkeyPatch
):
    key = "9f8e7d6c5b4a3210ffee"
    monkeypatch.setenv("SHOP_API_KEY", key)

    @tool
    def order() -> str:
        """Order."""
        raise OSError(f"401 for {key}, order 17")

    llm = ScriptedLLM([ToolUse("order", {}), "done"])
    clerk = Agent(role="clerk", goal="g", backstory="b", llm=llm, tools=[order])
    made = Crew(agents=[clerk], tasks=[Task(description="d", expected_output="e", agent=clerk)])
    assert mode.kickoff(made).raw == "done"
    assert "`order` failed: OSError: 401 for ***, order 17" in str(llm.requests[-1])
    assert [name for name, content in texts_in(storage) if key.encode() in content] == []
