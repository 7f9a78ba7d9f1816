"""Published advisories of CrewAI, LangGraph, LangChain and what wraps FAISS: each attack is tried on crewgraph.

`SECURITY.md` lists them with these tests. The parts that carry the defence have tests of their own beside them.
"""

import ast
import asyncio
import json
import os
import sqlite3
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode
from runtime.parts import agent, crew, served, task
from servers.openai_api import OpenAIServer
from storage.checkpoints.tampering import attacks

import crewgraph
from crewgraph import Agent, Crew, ScriptedLLM, ToolUse
from crewgraph.errors import CompileError, CrewgraphError, ToolFailed
from crewgraph.knowledge import JSONKnowledgeSource, URLKnowledgeSource
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.storage.store import FaissStore
from crewgraph.tools import tool

SOURCES = Path(crewgraph.__file__).parent


def kept_run(file: Path) -> Crew:
    """A crew with a stored run, which waits for nothing but may be resumed."""
    made = crew(task("a", agent(ScriptedLLM(["high"], repeat_last=True))), name="desk")
    with SqliteCheckpointer(file) as saver:
        made.kickoff(thread_id="t", checkpointer=saver)
    return made


STORED: dict[str, tuple[str, ...]] = {
    "CVE-2025-64439": ("json constructor", "json method"),
    "CVE-2026-48775": ("json constructor", "json secret"),
    "CVE-2026-28277": (
        "arguments", "named arguments", "one argument", "method that runs", "popen", "nested", "pydantic",
    ),
    "pickle": ("pickle", "array"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("attack", "advisory"), [(attack, name) for name, kinds in STORED.items() for attack in kinds], ids=str
)
def test_bytes_in_the_place_of_a_checkpoint_run_nothing_when_a_run_is_resumed(
    attack: str, advisory: str, tmp_path: Path
):
    file, touched = tmp_path / "runs.db", tmp_path / "touched"
    made = kept_run(file)
    connection = sqlite3.connect(file)
    connection.execute("UPDATE payloads SET kind = ?, data = ?", attacks(touched)[attack])
    connection.execute("UPDATE writes SET kind = ?, data = ?", attacks(touched)[attack])
    connection.commit()
    connection.close()
    with SqliteCheckpointer(file) as saver:
        try:
            reported = str(made.resume("t", checkpointer=saver))
        except (CrewgraphError, KeyError, TypeError, ValueError, AttributeError) as error:
            reported = str(error)
    assert not touched.exists(), advisory
    assert os.environ["PATH"] not in reported


def test_cve_2026_27794_a_cache_of_nodes_reads_no_pickle(tmp_path: Path):
    touched = tmp_path / "touched"
    kind, data = attacks(touched)["pickle"]
    cache = InMemoryCache[Any]()
    made = crew(task("a", agent(ScriptedLLM(["high"]))), name="desk")
    assert made.compile(cache=cache, checkpointer=False).invoke({"inputs": {}})["a"]["raw"] == "high"
    with pytest.raises(Exception):  # noqa: B017 - whatever it is, nothing runs
        cache.serde.loads_typed((kind, data))
    assert not touched.exists()


@pytest.mark.parametrize(
    "keys", [{"x') OR '1'='1": "dummy"}, {"a' UNION SELECT 1 --": 1}, {'"; DROP TABLE lineages; --': 1}]
)
def test_cve_2025_67644_keys_of_a_filter_are_no_sql(keys: dict[str, Any], tmp_path: Path):
    kept_run(tmp_path / "runs.db")
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        assert list(saver.list(None, filter=keys)) == []
        assert len(list(saver.list(None))) > 0


@pytest.mark.parametrize("operator", ["$gt) OR 1=1 --", "$eq' OR '1'='1", "$ne; DROP TABLE items"])
def test_cve_2025_8709_operators_of_a_stores_filter_are_no_sql(operator: str, tmp_path: Path):
    with FaissStore(tmp_path / "store.db") as store:
        store.put(("a",), "k", {"n": 1})
        with pytest.raises((ValueError, CrewgraphError)):
            store.search(("a",), filter={"n": {operator: 0}})
        assert [item.key for item in store.search(("a",))] == ["k"]


def test_cve_2024_5998_nothing_is_read_as_a_pickle():
    names = {
        alias.name
        for path in SOURCES.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    assert not names & {"pickle", "cloudpickle", "dill", "marshal", "load_prompt"}


SECRET = {"lc": 1, "type": "secret", "id": ["PATH"]}
CONSTRUCTOR = {
    "lc": 1,
    "type": "constructor",
    "id": ["langchain_core", "messages", "AIMessage"],
    "kwargs": {"content": "made"},
}


@pytest.mark.parametrize("data", [SECRET, CONSTRUCTOR], ids=["secret", "constructor"])
def test_cve_2025_68664_data_that_looks_serialized_stays_data(mode: Mode, data: dict[str, Any], tmp_path: Path):
    @tool
    def look() -> dict[str, Any]:
        """Look."""
        return data

    llm = ScriptedLLM([ToolUse("look", {}), ConnectionError("down"), lambda messages: str(messages[-1]["content"])])
    made = crew(task("a", agent(llm, tools=[look]), description="Look at {what}"), name="desk")
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        with pytest.raises(ConnectionError):
            mode.kickoff(made, {"what": data}, thread_id="t", checkpointer=saver)
        assert "'lc': 1" in mode.resume(made, "t", checkpointer=saver).raw.replace('"', "'")
        state = made.compile(checkpointer=saver).get_state({"configurable": {"thread_id": "t"}})
        assert state.values["inputs"]["what"] == data
    assert all(os.environ["PATH"] not in request.text for request in llm.requests)


def test_cve_2025_68664_streamed_events_hold_the_data_as_it_is():
    graph = crew(task("a", agent(ScriptedLLM(["high"])), description="Look at {what}")).compile(checkpointer=False)

    async def events() -> list[Any]:
        return [event async for event in graph.astream_events({"what": SECRET}, version="v2")]

    reported = asyncio.run(events())
    assert reported[0]["data"]["input"]["what"] == SECRET
    assert os.environ["PATH"] not in str(reported)


@pytest.mark.parametrize("template", ["{what.__class__.__mro__}", "{what[0].__init__.__globals__}", "{what!r}"])
def test_cve_2025_65106_placeholders_read_no_attributes(mode: Mode, template: str):
    llm = ScriptedLLM(["high"])
    made = crew(task("a", agent(llm), description=f"Look at {template}"))
    mode.kickoff(made, {"what": "rain"})
    assert template in llm.requests[0].text
    assert "built-in" not in llm.requests[0].text and "<class" not in llm.requests[0].text


def test_cve_2026_34070_prompts_are_read_from_no_path_that_data_names(tmp_path: Path):
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    llm = ScriptedLLM(["high"])
    text = json.dumps({"_type": "prompt", "template_path": str(secret)})
    made = crew(task("a", agent(llm), description=f"Look at {text}"))
    made.kickoff({"what": f"template_path: {secret}"})
    assert "the secret" not in llm.requests[0].text


@pytest.fixture
def inner() -> Any:
    """A server of the private network, which notes who asks."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"credentials")

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked = []
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


FORMS: dict[str, Callable[[int], str]] = {
    "plain": lambda port: f"http://127.0.0.1:{port}/a",
    "decimal": lambda port: f"http://2130706433:{port}/a",
    "hexadecimal": lambda port: f"http://0x7f000001:{port}/a",
    "octal": lambda port: f"http://0177.0.0.1:{port}/a",
    "short": lambda port: f"http://127.1:{port}/a",
    "mapped": lambda port: f"http://[::ffff:127.0.0.1]:{port}/a",
    "a name": lambda port: f"http://LOCALHOST:{port}/a",
    "with a user": lambda port: f"http://example.org@127.0.0.1:{port}/a",
}


@pytest.mark.parametrize("form", FORMS)
def test_cve_2026_2286_knowledge_is_fetched_from_no_private_address(form: str, inner: Any):
    with pytest.raises(CrewgraphError):
        URLKnowledgeSource(urls=[FORMS[form](inner.server_address[1])]).passages()
    assert inner.asked == []


def test_cve_2026_26013_and_cve_2026_41488_pictures_in_messages_are_not_fetched(mode: Mode, inner: Any):
    picture = {"type": "image_url", "image_url": {"url": f"http://127.0.0.1:{inner.server_address[1]}/picture.png"}}
    with OpenAIServer(lambda request: "a boat") as server:
        clerk = Agent(role="Clerk", goal="g", backstory="b", llm=served(server.url))
        message = {"role": "user", "content": [{"type": "text", "text": "What is it?"}, picture]}
        output = mode.run(clerk.kickoff, clerk.akickoff, [message])
    assert output.raw == "a boat"
    assert inner.asked == []


@pytest.mark.parametrize("path", ["../secret.json", "/etc/hostname", "sub/../../secret.json"])
def test_cve_2026_2285_knowledge_is_read_from_no_file_outside_of_its_folder(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "secret.json").write_text('{"key": "the secret"}')
    folder = tmp_path / "project"
    (folder / "knowledge" / "sub").mkdir(parents=True)
    monkeypatch.chdir(folder)
    with pytest.raises(CrewgraphError) as refused:
        JSONKnowledgeSource(file_paths=[path]).passages()
    assert "the secret" not in str(refused.value)


@pytest.mark.parametrize("docker", ["missing", "stopped"])
def test_cve_2026_2275_and_cve_2026_2287_without_docker_no_code_is_run(
    mode: Mode, docker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder, touched = tmp_path / "bin", tmp_path / "touched"
    folder.mkdir()
    if docker == "stopped":
        (folder / "docker").write_text("#!/bin/sh\necho 'Cannot connect to the daemon' >&2\nexit 1\n")
        (folder / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder) if docker == "missing" else f"{folder}{os.pathsep}{os.environ['PATH']}")
    code = f"import pathlib; pathlib.Path({str(touched)!r}).touch()"
    llm = ScriptedLLM([ToolUse("Code Interpreter", {"code": code, "libraries_used": []}), "done"], repeat_last=True)
    coder = agent(llm, allow_code_execution=True)
    with pytest.raises((ToolFailed, CompileError, CrewgraphError), match="Docker"):
        mode.kickoff(crew(task("a", coder)), checkpointer=InMemorySaver())
    assert not touched.exists()


def test_cve_2026_2275_unsafe_execution_is_refused_even_if_it_is_asked_for(mode: Mode):
    coder = agent(ScriptedLLM(["done"]), allow_code_execution=True, code_execution_mode="unsafe")
    with pytest.raises(CompileError, match='`code_execution_mode="unsafe"`'):
        mode.kickoff(crew(task("a", coder)))
