"""`crewgraph serve` beyond the protocol: authentication, shutdown, and the runs that the next server resumes."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import processes
import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import MessagesState, StateGraph
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite.aio import AsyncSqliteStore
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.routing import Mount
from waiting import wait_until

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.contrib.serve import serve_app
from crewgraph.contrib.serve.records import Records, opened_records
from crewgraph.errors import DefinitionError
from crewgraph.schema import PlainDict

from .conftest import Client
from .http_servers import TESTS, Served, our_server
from .programs import desk

TOPIC = {"topic": "rain"}


@pytest.fixture(scope="module", params=["ours", "queued"])
def ours(request: pytest.FixtureRequest) -> Served:
    """`crewgraph serve`, alone, and with a queue and workers."""
    return request.getfixturevalue(f"{request.param}_server")


@pytest.fixture
def http(ours: Served) -> Any:
    with httpx.Client(base_url=ours.url, timeout=60) as client:
        yield client


def test_a_server_with_a_token_admits_who_brings_it(tmp_path: Path):
    with our_server(tmp_path, "--token", "s3cret-word") as served:
        statuses = {
            name: httpx.get(f"{served.url}/info", headers=headers).status_code
            for name, headers in {
                "nobody": {},
                "wrong": {"Authorization": "Bearer other"},
                "bearer": {"Authorization": "Bearer s3cret-word"},
                "key": {"X-Api-Key": "s3cret-word"},
                "another host": {"X-Api-Key": "s3cret-word", "Host": "crews.example.org"},
            }.items()
        }
        assert statuses == {"nobody": 401, "wrong": 401, "bearer": 200, "key": 200, "another host": 200}
        assert httpx.get(f"{served.url}/ok").status_code == 200
        client = Client(served, asynchronous=False, is_ours=True, api_key="s3cret-word")
        assert client("runs.wait", None, "desk", input=TOPIC)["tell"]["raw"] == "rain it is"
        assert "s3cret-word" not in served.output


def test_without_a_token_only_this_machine_is_answered(http: httpx.Client):
    refused = http.get("/info", headers={"Host": "evil.example.org"})
    assert (refused.status_code, "evil.example.org" in refused.json()["detail"]) == (403, True)
    assert http.get("/info", headers={"Host": "localhost:99"}).status_code == 200


def test_an_address_that_others_reach_needs_a_token():
    command = [sys.executable, "-m", "crewgraph", "serve", "--target", "served.programs:desk", "--host", "0.0.0.0"]
    environment = {**os.environ, "PYTHONPATH": str(TESTS), "SERVED_LOG": os.devnull}
    environment.pop("CREWGRAPH_SERVE_TOKEN", None)
    done = processes.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert (done.returncode, "pass a token" in done.stderr) == (1, True)


def test_bodies_that_pages_of_other_sites_can_send_are_refused(http: httpx.Client):
    body = json.dumps({"assistant_id": "desk", "input": TOPIC})
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        assert http.post("/runs/wait", content=body, headers={"Content-Type": kind}).status_code == 415
    answered = http.get("/info", headers={"Origin": "https://evil.example.org"})
    assert "access-control-allow-origin" not in answered.headers


def test_pages_of_allowed_origins_may_ask(tmp_path: Path):
    with our_server(tmp_path, "--allow-origin", "https://chat.example.org", "--token", "t0ken-t0ken") as served:
        asking = {
            "Origin": "https://chat.example.org",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "x-api-key,content-type",
        }
        preflight = httpx.options(f"{served.url}/runs/wait", headers=asking)
        assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (
            200,
            "https://chat.example.org",
        )
        answered = httpx.get(f"{served.url}/info", headers={**asking, "X-Api-Key": "t0ken-t0ken"})
        assert answered.headers["access-control-allow-origin"] == "https://chat.example.org"


INVALID: dict[str, tuple[Any, str]] = {
    "a field that is not served": (
        {"assistant_id": "desk", "webhook": "http://x"},
        "`webhook`: this server does not have it",
    ),
    "no assistant": ({"input": {}}, "`assistant_id`"),
    "a stream mode": ({"assistant_id": "desk", "stream_mode": "all"}, "`stream_mode` 'all' is not served"),
    "LangGraph's own keys": (
        {"assistant_id": "desk", "config": {"configurable": {"__pregel_read": 1}}},
        "`configurable` must not hold `__pregel_read`",
    ),
    "a command": ({"assistant_id": "desk", "command": {"restart": 1}}, "`command` has 'restart'"),
    "a list": ([1], "the body must be a JSON object"),
    "inputs of another crew": ({"assistant_id": "desk", "input": {"tone": "dry"}}, "nothing in the crew reads `tone`"),
    "too few inputs": ({"assistant_id": "desk", "input": {}}, "the input lacks `topic`"),
    "a conversation without a person": ({"assistant_id": "desk", "input": {"messages": []}}, "hold none of a person"),
    "no conversation": ({"assistant_id": "desk", "input": {"messages": 5}}, "the input does not fit"),
    "inputs that are none": ({"assistant_id": "Letters", "input": {"inputs": 4}}, "must be an object"),
    "a text as input": ({"assistant_id": "Letters", "input": "hi"}, "must be an object"),
    "a context": ({"assistant_id": "desk", "input": TOPIC, "context": {"max_cost": "x"}}, "`max_cost`"),
}


@pytest.mark.parametrize(("body", "why"), INVALID.values(), ids=INVALID)
def test_requests_are_refused_with_the_reason(ours: Served, http: httpx.Client, body: Any, why: str):
    logged = ours.output
    refused = http.post("/runs/wait", json=body)
    assert (refused.status_code, why in refused.json()["detail"], ours.output) == (422, True, logged)


def test_the_server_describes_what_it_serves(ours: Served, http: httpx.Client):
    assert "serving desk, payer, reviewed, slow, Letters; see /openapi.json" in ours.output
    described = http.get("/openapi.json").json()
    run = described["paths"]["/threads/{thread_id}/runs/wait"]["post"]
    schema = run["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    assert "assistant_id" in described["components"]["schemas"][schema]["properties"]
    assert "topic" in described["components"]["schemas"]["desk.input"]["properties"]
    page = http.get("/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert all(f"<code>{path}</code>" in page.text for path in described["paths"])
    assert "<h3>Letters.input</h3>" in page.text and "http" not in page.text


def test_crews_and_flows_are_tools_for_mcp_clients(ours: Served):
    async def use() -> list[Any]:
        async with streamable_http_client(f"{ours.url}/mcp") as (read, write, _), ClientSession(read, write) as session:
            await session.initialize()
            tools = {tool.name: tool.inputSchema for tool in (await session.list_tools()).tools}
            assert list(tools) == ["desk", "payer", "reviewed", "slow", "Letters"]
            assert (tools["desk"]["required"], tools["desk"]["properties"]["topic"]["type"]) == (["topic"], "string")
            calls: list[tuple[str, dict[str, str]]] = [("desk", TOPIC), ("payer", {"bill": "b"}), ("desk", {})]
            return [await session.call_tool(name, arguments) for name, arguments in calls]

    done, asked, refused = asyncio.run(use())
    assert (done.isError, done.structuredContent, done.content[0].text) == (
        False,
        {"output": "rain it is"},
        "rain it is",
    )
    assert (asked.isError, "question for a person" in asked.content[0].text) == (True, True)
    assert (refused.isError, "topic" in refused.content[0].text) == (True, True)


def _shouted(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(str(state["messages"][-1].text).upper())]}


def test_graphs_are_served_beside_crews():
    builder: Any = StateGraph(MessagesState)
    builder.add_node("echo", _shouted)
    builder.set_entry_point("echo")
    targets = [desk().compile(messages=True), builder.compile(name="echo"), builder]

    async def use() -> list[Any]:
        said = {"messages": [{"role": "user", "content": "rain"}]}
        answers: list[Any] = []
        async with _within(targets[0], InMemoryStore(), *targets[1:]) as client:
            for name in ("desk", "echo", "LangGraph"):
                thread = (await client.post("/threads", json={})).json()["thread_id"]
                run = {"assistant_id": name, "input": said}
                answers.append((await client.post(f"/threads/{thread}/runs/wait", json=run)).json())
        return [one["messages"][-1]["content"] for one in answers]

    assert asyncio.run(use()) == ["rain it is", "RAIN", "RAIN"]


def test_what_is_no_json_and_what_is_too_large_is_refused(http: httpx.Client):
    headers = {"Content-Type": "application/json"}
    refused = http.post("/threads", content=b"{", headers=headers)
    assert (refused.status_code, "not valid JSON" in refused.json()["detail"]) == (422, True)
    assert http.post("/threads", content=b" " * (11 << 20), headers=headers).status_code == 413
    assert http.post("/threads", content=iter([b" " * (6 << 20)] * 2), headers=headers).status_code == 413


UNSTORABLE = {
    "a NUL": (r'"a\u0000b"', "a NUL or a surrogate"),
    "half of a character": (r'"a\ud800b"', "a NUL or a surrogate"),
    "no number": ("NaN", "the number nan"),
    "a number without end": ("1e999", "the number inf"),
    "a long number": ("9" * 40, "133 bits"),
    "a longer number": ("9" * 5000, "not valid JSON"),
    "a deep list": ("[" * 300 + "]" * 300, "nested too deeply"),
    "a list that no reader can follow": ("[" * 50_000 + "]" * 50_000, "nested too deeply"),
    "no UTF-8": (b'"\xff"', "not valid JSON"),
}


def test_values_that_databases_cannot_store_are_refused_before_anything_is_stored(http: httpx.Client):
    answers: dict[str, Any] = {}
    for name, (value, why) in UNSTORABLE.items():
        text = value.encode() if isinstance(value, str) else value
        for path, body in (
            ("/threads", b'{"metadata": {"a": %b}}'),
            ("/runs/wait", b'{"assistant_id": "desk", "input": {"topic": %b}}'),
        ):
            refused = http.post(path, content=body % text, headers={"Content-Type": "application/json"})
            if refused.status_code != 422 or why not in refused.json()["detail"]:
                answers[f"{name} to {path}"] = (refused.status_code, refused.text)
    key = http.post("/threads", content=rb'{"metadata": {"\u0000": 1}}', headers={"Content-Type": "application/json"})
    assert (answers, key.status_code) == ({}, 422)


@pytest.mark.parametrize("seconds", [1e300, 1e20, 1e12])
def test_a_run_that_is_to_begin_beyond_all_times_is_refused_and_not_kept(http: httpx.Client, seconds: float):
    body = {"assistant_id": "desk", "input": TOPIC, "after_seconds": seconds}
    thread = http.post("/threads", json={}).json()["thread_id"]
    refused = http.post(f"/threads/{thread}/runs", json=body)
    assert (refused.status_code, "after_seconds" in refused.json()["detail"]) == (422, True)
    assert http.get(f"/threads/{thread}/runs").json() == []


def test_a_stream_is_read_again_from_any_point(http: httpx.Client):
    thread = http.post("/threads", json={}).json()["thread_id"]
    body = {"assistant_id": "desk", "input": TOPIC, "stream_mode": ["updates"]}
    first = http.post(f"/threads/{thread}/runs/stream", json=body)
    place = first.headers["content-location"]
    assert place.startswith(f"/threads/{thread}/runs/")
    rest = http.get(f"{place}/stream", headers={"Last-Event-ID": "2"})
    assert rest.text == first.text[first.text.index("id: 3\n") :]


def test_a_run_whose_reader_leaves_continues_unless_it_is_to_be_cancelled(ours: Served):
    async def read_the_beginning(name: str, **more: str) -> str:
        body = {"assistant_id": "slow", "input": {"name": name}, **more}
        async with httpx.AsyncClient(base_url=ours.url, timeout=60) as client:
            thread = (await client.post("/threads", json={})).json()["thread_id"]
            async with client.stream("POST", f"/threads/{thread}/runs/stream", json=body) as response:
                while f"{name} first" not in ours.notes:
                    await asyncio.sleep(0.01)
                return response.headers["content-location"]

    for more, ending in (({}, "success"), ({"on_disconnect": "cancel"}, "interrupted")):
        place = asyncio.run(read_the_beginning(uuid4().hex, **more))
        wait_until(lambda place=place: httpx.get(f"{ours.url}{place}").json()["status"] not in ("pending", "running"))
        assert httpx.get(f"{ours.url}{place}").json()["status"] == ending


@pytest.mark.parametrize("strategy", ["interrupt", "rollback"])
def test_a_new_run_takes_the_place_of_the_one_before(ours: Served, strategy: Any):
    client = Client(ours, asynchronous=False, is_ours=True)
    thread, name = client.thread(), uuid4().hex
    first = client("runs.create", thread, "slow", input={"name": name})
    wait_until(lambda: f"{name} first" in ours.notes)
    output = client("runs.wait", thread, "desk", input=TOPIC, multitask_strategy=strategy)
    assert output["tell"]["raw"] == "rain it is"
    assert f"{name} second" not in ours.notes
    if strategy == "interrupt":
        assert client("runs.get", thread, first["run_id"])["status"] == "interrupted"
    else:
        steps = client("threads.get_history", thread)
        assert {step["metadata"]["graph_id"] for step in steps} == {"desk"}


def test_a_server_that_is_told_to_end_leaves_its_runs_after_what_is_under_way(tmp_path: Path):
    with our_server(tmp_path, SERVED_SECONDS="0.5") as first:
        client = Client(first, asynchronous=False, is_ours=True)
        thread = client.thread()
        run = client("runs.create", thread, "slow", input={"name": "n"})
        wait_until(lambda: "n first" in first.notes)
        os.kill(first.process.pid, signal.SIGTERM)
        assert first.process.wait(60) in (0, -signal.SIGTERM)
        assert "Traceback" not in first.output
    with our_server(tmp_path) as second:
        client = Client(second, asynchronous=False, is_ours=True)
        client("runs.join", thread, run["run_id"])
        assert client("runs.get", thread, run["run_id"])["status"] == "success"
        assert second.notes == ["n first", "n second"]


def test_a_thread_that_another_process_runs_is_refused_or_waited_for_as_the_strategy_says(tmp_path: Path):
    with our_server(tmp_path) as served:
        client = Client(served, asynchronous=False, is_ours=True)
        thread = client.thread()
        program = (
            "import sys\nfrom served.programs import slow\n"
            f"print(slow().kickoff({{'name': 'other'}}, thread_id={thread!r}).raw)\n"
        )
        environment = {
            **os.environ,
            "PYTHONPATH": str(TESTS),
            "SERVED_LOG": str(tmp_path / "notes"),
            "CREWGRAPH_STORAGE_DIR": str(tmp_path / "storage"),
        }
        other = processes.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)
        wait_until(lambda: "other first" in served.notes)
        with pytest.raises(Exception, match="is run by process"):
            client("runs.wait", thread, "desk", input=TOPIC, multitask_strategy="reject")
        run = client("runs.create", thread, "desk", input=TOPIC)
        assert run["status"] == "pending"
        client("runs.join", thread, run["run_id"])
        assert client("runs.get", thread, run["run_id"])["status"] == "success"
        assert served.notes == ["other first", "other second"]
        assert other.communicate(timeout=60)[0] == "second of other\n"


def test_the_application_is_a_part_of_a_custom_program():
    inner = serve_app([desk()], checkpointer=InMemorySaver(), hosts=["*"])
    app = Starlette(routes=[Mount("/crews", inner)], lifespan=inner.router.lifespan_context)

    async def ask() -> Any:
        async with app.router.lifespan_context(app):
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://own") as client:
                return (await client.post("/crews/runs/wait", json={"assistant_id": "desk", "input": TOPIC})).json()

    assert asyncio.run(ask())["tell"]["raw"] == "rain it is"


def _alone(script: Any, description: str = "d") -> Crew:
    agent = Agent(role="r", goal="g", backstory="b", llm=ScriptedLLM(script))
    return Crew(name="alone", agents=[agent], tasks=[Task(description=description, expected_output="e", agent=agent)])


@asynccontextmanager
async def _within(crew: Any, store: BaseStore, *more: Any) -> AsyncGenerator[httpx.AsyncClient]:
    app = serve_app([crew, *more], checkpointer=InMemorySaver(), store=store, token="word", hosts=["*"])
    transport, headers = httpx.ASGITransport(app), {"X-Api-Key": "word"}
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://desk", headers=headers) as client,
    ):
        yield client


def _named(name: str, graph: Any) -> Any:
    graph.name = name
    return graph


def _nothing(given: PlainDict) -> None:
    """Return no result."""


def test_a_result_of_nothing_is_null_also_once_the_server_has_forgotten_the_run():
    async def program() -> None:
        store, saver = InMemoryStore(), InMemorySaver()
        thread = run = ""
        for _ in range(2):
            app = serve_app([_named("nothing", entrypoint()(_nothing))], checkpointer=saver, store=store, hosts=["*"])
            transport = httpx.ASGITransport(app)
            async with (
                app.router.lifespan_context(app),
                httpx.AsyncClient(transport=transport, base_url="http://desk") as c,
            ):
                if not run:
                    thread = (await c.post("/threads", json={})).json()["thread_id"]
                    await c.post(f"/threads/{thread}/runs/wait", json={"assistant_id": "nothing", "input": {}})
                    run = (await c.get(f"/threads/{thread}/runs")).json()[0]["run_id"]
                joined = await c.get(f"/threads/{thread}/runs/{run}/join")
                assert (joined.status_code, joined.text) == (200, "null")

    asyncio.run(program())


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (asyncio.CancelledError(), "CancelledError"),
    ],
)
def test_what_would_end_the_process_ends_its_own_run(tmp_path: Path, raised: BaseException, text: str):
    async def program() -> None:
        waiting = threading.Event()

        def answering(messages: Any) -> str:
            if "leave" in str(messages):
                raise raised
            assert waiting.wait(60)
            return "Final Answer: done"

        async with (
            opened_records(tmp_path / "records.db") as store,
            _within(_alone(answering, "d {a}"), store) as client,
        ):
            thread = (await client.post("/threads", json={})).json()["thread_id"]
            body: dict[str, Any] = {"assistant_id": "alone", "input": {"a": "stay"}}
            run = (await client.post(f"/threads/{thread}/runs", json=body)).json()["run_id"]
            said = await client.post("/runs/wait", json={"assistant_id": "alone", "input": {"a": "leave"}})
            assert f"`{text}` was raised in a request to the model" in said.json()["__error__"]["message"]
            waiting.set()
            assert (await client.get(f"/threads/{thread}/runs/{run}/join")).json()["output"] == "done"

    asyncio.run(program())


def test_the_end_of_a_run_whose_records_cannot_be_written_is_stored_once_they_can(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    asked: list[int] = []

    def answering(messages: Any) -> str:
        asked.append(1)
        return "Final Answer: done"

    async def program() -> None:
        async with opened_records(tmp_path / "records.db") as store, _within(_alone(answering), store) as client:
            assert isinstance(store, AsyncSqliteStore)
            thread = (await client.post("/threads", json={})).json()["thread_id"]
            body: dict[str, Any] = {"assistant_id": "alone", "input": {}, "after_seconds": 0.2}
            run = (await client.post(f"/threads/{thread}/runs", json=body)).json()["run_id"]
            await store.conn.execute("PRAGMA query_only = 1")
            joined = asyncio.create_task(client.get(f"/threads/{thread}/runs/{run}/join"))
            async with asyncio.timeout(60):
                while "cannot be stored" not in caplog.text:
                    await asyncio.sleep(0.02)
            refused = await client.post("/threads", json={})
            assert (refused.status_code, "readonly" in refused.json()["detail"]) == (500, True)
            assert not joined.done()
            await store.conn.execute("PRAGMA query_only = 0")
            assert (await joined).json()["output"] == "done"
            shown = (await client.get(f"/threads/{thread}/runs/{run}")).json()
            assert (shown["status"], asked) == ("success", [1])

    asyncio.run(program())


def _talking(words: int) -> Crew:
    crew = _alone(["Final Answer: " + "word " * words] * 5)
    crew.agents[0].llm.stream = True
    return crew


_TALK: dict[str, Any] = {"assistant_id": "alone", "input": {}, "stream_mode": ["messages-tuple", "values"]}


def test_a_stream_that_is_longer_than_what_is_kept_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("crewgraph.contrib.serve.running.MAX_STORED_EVENTS", 50)

    async def program() -> None:
        async with _within(_talking(500), InMemoryStore()) as client:
            thread = (await client.post("/threads", json={})).json()["thread_id"]
            live = await client.post(f"/threads/{thread}/runs/stream", json=_TALK)
            late = await client.get(f"{live.headers['content-location']}/stream")
            for stream, pieces in ((live, 500), (late, 49)):
                events = [line for line in stream.text.splitlines() if line.startswith("event: ")]
                assert (events.count("event: messages") >= pieces, events[-1]) == (True, "event: values")
            assert late.text.count("event: ") == 50
            assert live.text.endswith(late.text)

    asyncio.run(program())


def test_the_events_that_are_kept_are_bounded_in_size(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("crewgraph.contrib.serve.running._MAX_STORED_BYTES", 40_000)
    monkeypatch.setattr("crewgraph.contrib.serve.running._MAX_ENDED_BYTES", 100_000)

    async def program() -> None:
        async with _within(_talking(500), InMemoryStore()) as client:
            thread = (await client.post("/threads", json={})).json()["thread_id"]
            places = [
                (await client.post(f"/threads/{thread}/runs/stream", json=_TALK)).headers["content-location"]
                for _ in range(5)
            ]
            kept = [len((await client.get(f"{place}/stream")).text) for place in places]
            assert [0 < size < 50_000 for size in kept] == [False, False, True, True, True], kept

    asyncio.run(program())


def test_other_requests_are_answered_while_a_run_has_much_to_tell():
    async def program() -> None:
        async with _within(_talking(1000), InMemoryStore()) as client:
            run = asyncio.create_task(client.post("/runs/stream", json=_TALK))
            turns = 0
            while not run.done():
                await client.get("/ok")
                await asyncio.sleep(0)
                turns += 1
            assert (run.result().status_code, turns > 200) == (200, True), turns

    asyncio.run(program())


def test_nothing_is_kept_of_a_run_without_a_thread():
    async def program() -> None:
        store = InMemoryStore()
        async with _within(_alone(["Final Answer: done"] * 2), store) as client:
            await client.post("/runs/wait", json={"assistant_id": "alone", "input": {}})
            async with asyncio.timeout(60):
                while store.search(("crewgraph", "runs")) or store.search(("crewgraph", "threads")):
                    await asyncio.sleep(0.01)
            await client.post("/runs/wait", json={"assistant_id": "alone", "input": {}, "on_completion": "keep"})
            assert len(store.search(("crewgraph", "runs"))) == len(store.search(("crewgraph", "threads"))) == 1

    asyncio.run(program())


def test_a_clock_that_is_set_back_delays_no_run_of_the_last_server():
    async def program() -> None:
        store = InMemoryStore()
        async with _within(_alone([]), store) as client:
            run = (await client.post("/runs", json={"assistant_id": "alone", "input": {}, "after_seconds": 1})).json()
        records = Records(store)
        left = await records.runs.get(run["run_id"])
        assert left is not None and left.status == "pending"
        left.created_at += timedelta(hours=1)
        await records.runs.put(left)
        async with _within(_alone(["Final Answer: done"]), store), asyncio.timeout(60):
            while await records.runs.get(run["run_id"]) is not None:
                await asyncio.sleep(0.05)

    asyncio.run(program())


def test_targets_of_one_name_and_no_targets_are_refused():
    with pytest.raises(DefinitionError, match="two targets are called `desk`"):
        serve_app([desk(), desk()], checkpointer=InMemorySaver())
    with pytest.raises(DefinitionError, match="needs a crew, a flow or a graph"):
        serve_app([], checkpointer=InMemorySaver())
