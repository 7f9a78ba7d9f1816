"""A server that refuses a key may quote it: no file, row, log, event and trace of the failed run has it."""

import json
import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from modes import Mode
from servers.langsmith_api import traced
from servers.openai_api import Answer, OpenAIServer, Request
from servers.postgres import Postgres
from test_redaction import SECRET_VALUES

from crewgraph import LLM, Agent, BaseLLM, Crew, Task
from crewgraph.errors import ModelError
from crewgraph.events import BaseEvent, crewai_event_bus
from crewgraph.flow import Flow, persist, start
from crewgraph.redaction import SecretRedactor, redact_error
from crewgraph.storage.checkpoints import SqliteCheckpointer

KEY = "Ma7k/no_shape/of+a+key"
HEADER = "Ma7k and a secret header"


@pytest.fixture(params=[400, 401, 404, 500])
def refusing(request: pytest.FixtureRequest) -> Iterator[OpenAIServer]:
    """A server that quotes all it got."""

    def answer(asked: Request) -> Answer:
        text = f"Not with {asked.headers.get('authorization')}, {asked.headers.get('x-desk')}."
        error = {"message": text, "type": "refused", "param": {"headers": [text]}, "code": text}
        return Answer(status=request.param, body=json.dumps({"error": error}).encode())

    with OpenAIServer(answer) as api:
        yield api
        assert KEY in str(api.requests[-1].headers) and HEADER in str(api.requests[-1].headers)


def model(api: OpenAIServer, **more: Any) -> LLM:
    return LLM("openai/test", base_url=api.url, api_key=KEY, max_retries=0, extra_headers={"X-Desk": HEADER}, **more)


def crew(llm: BaseLLM, **more: Any) -> Crew:
    agent = Agent(role="Clerk", goal="Look", backstory="You look.", llm=llm)
    return Crew(
        name="desk", agents=[agent], tasks=[Task(name="t", description="d", expected_output="e", agent=agent)], **more
    )


def failed(run: Callable[[], object]) -> BaseException:
    with pytest.raises(Exception) as caught:
        run()
    return caught.value


def shown(error: BaseException | None) -> Iterator[str]:
    """All that an error and those that led to it tell."""
    while error is not None:
        yield f"{error!r} {error} {vars(error)} {getattr(error, '__notes__', '')}"
        error = error.__cause__ or error.__context__


def files(folder: Path) -> Iterator[tuple[str, str]]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.name, path.read_bytes().decode("utf-8", "replace")


def told(places: list[tuple[str, str]]) -> set[str]:
    return {place for place, text in places if "Ma7k" in text}


@pytest.mark.parametrize("streams", [False, True])
def test_no_file_log_event_and_error_of_a_crew_has_the_key_that_a_server_quotes(
    mode: Mode, refusing: OpenAIServer, streams: bool, tmp_path: Path, storage: Path, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str],
):  # fmt: skip
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.INFO, "crewgraph")
    reported: list[tuple[str, str]] = []

    def hear(source: object, event: BaseEvent) -> None:
        reported.append(("event", event.model_dump_json() + repr(event)))

    made = crew(model(refusing, stream=streams), verbose=True, output_log_file="run.json", checkpoint=True)
    crewai_event_bus.register_handler(BaseEvent, hear)
    try:
        errors = [failed(lambda: mode.kickoff(made, thread_id="t")), failed(lambda: mode.resume(made, "t"))]
    finally:
        crewai_event_bus.off(BaseEvent, hear)
    output = capsys.readouterr()
    places = [
        *files(tmp_path), *files(storage), *reported, ("log", caplog.text), ("console", output.out + output.err),
        *(("error", text) for error in errors for text in shown(error)),
    ]  # fmt: skip
    assert told(places) == set()
    assert "Not with Bearer ***, ***." in str(errors[0])
    stored = {name.partition("-")[0] for name, text in places if "Not with Bearer ***" in text}
    assert {"event", "log", "console", "error", "runs.db"} - stored <= {"log"}


def test_no_trace_has_the_key_that_a_server_quotes(mode: Mode, refusing: OpenAIServer):
    with traced() as langsmith:
        failed(lambda: mode.kickoff(crew(model(refusing))))
        failed(lambda: model(refusing).call("hello"))
        langsmith.flush()
        runs = json.dumps(langsmith.runs, default=str)
    assert "Not with Bearer ***" in runs
    assert "Ma7k" not in runs


def test_no_database_of_a_compiled_crew_has_the_key(mode: Mode, refusing: OpenAIServer, tmp_path: Path):
    with ExitStack() as stack:
        memory = InMemorySaver()
        foreign = stack.enter_context(SqliteSaver.from_conn_string(str(tmp_path / "foreign.db")))
        own = stack.enter_context(SqliteCheckpointer(tmp_path / "own.db"))
        for saver in (own, memory, *(() if mode.asynchronous else (foreign,))):
            graph = crew(model(refusing)).compile(checkpointer=saver)
            failed(lambda graph=graph: mode.invoke(graph, {"inputs": {}}, {"configurable": {"thread_id": "t"}}))
        assert told([*files(tmp_path), ("memory", repr(memory.writes) + repr(memory.blobs))]) == set()
        assert "Not with Bearer ***" in repr(memory.writes)


def test_no_row_of_postgres_has_the_key(mode: Mode, refusing: OpenAIServer, postgres: "Postgres"):
    from langgraph.checkpoint.postgres import PostgresSaver

    with postgres.database() as dsn, PostgresSaver.from_conn_string(dsn) as saver:
        saver.setup()
        failed(lambda: crew(model(refusing)).kickoff(thread_id="t", checkpointer=saver))
        with psycopg.connect(dsn) as connection:
            rows = connection.execute("SELECT channel, blob FROM checkpoint_writes").fetchall()
    assert any(b"Not with Bearer ***" in blob for _, blob in rows)
    assert [channel for channel, blob in rows if b"Ma7k" in blob] == []


@persist
class Desk(Flow[dict[str, Any]]):
    llm: Any = None

    @start()
    def look(self) -> str:
        return crew(self.llm).kickoff().raw


def test_no_file_of_a_flow_has_the_key(mode: Mode, refusing: OpenAIServer, storage: Path):
    flow = Desk()
    flow.llm = model(refusing)
    failed(lambda: mode.run(flow.kickoff, flow.kickoff_async))
    assert told(list(files(storage))) == set()


class Quoting(BaseLLM):
    """A model of a program's own."""

    def call(self, messages: Any, *args: Any, **more: Any) -> str:
        try:
            raise OSError(13, f"refused {self.api_key}")
        except OSError as error:
            raise ModelError(f"no answer with {self.api_key}", {"key": [self.api_key]}) from error


def test_the_key_of_a_model_of_a_programs_own_is_in_no_error_and_file(mode: Mode, storage: Path):
    error = failed(lambda: mode.kickoff(crew(Quoting("own", api_key=KEY))))
    assert told([*files(storage), *(("error", text) for text in shown(error))]) == set()
    assert "no answer with ***" in str(error)


def test_an_error_of_a_tool_that_ends_a_run_is_stored_without_the_secrets_of_the_environment(
    mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("DESK_PASSWORD", KEY)

    class Office(Flow[dict[str, Any]]):
        @start()
        def look(self) -> None:
            raise ConnectionError(f"the desk refused {KEY} at https://me:pa55w0rd@desk.example")

    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        failed(lambda: mode.run(Office(checkpointer=saver).kickoff, Office(checkpointer=saver).kickoff_async))
        with sqlite3.connect(tmp_path / "runs.db") as connection:
            assert connection.execute("SELECT count(*) FROM writes").fetchone() > (0,)
        stored = list(files(tmp_path))
    assert told(stored) == set()
    assert [name for name, text in stored if "pa55w0rd" in text] == []
    assert any("the desk refused ***" in text for _, text in stored)


def test_an_error_loses_its_secrets_wherever_they_stand():
    for secret in SECRET_VALUES:
        inner = ExceptionGroup("two", [ValueError(secret, [secret]), KeyError(secret)])
        error = RuntimeError(f"with {secret}", {"deep": [(secret,)]})
        error.add_note(f"note {secret}")
        error.__cause__, error.__context__ = inner, error
        redact_error(error, SecretRedactor(secrets=[secret]))
        assert secret not in "".join(shown(error)) + repr(inner.exceptions)
