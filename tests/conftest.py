"""What tests share: each behaviour in a sync and an async run, and a storage folder of the test's own."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from servers.postgres import Postgres, missing, running_postgres

from crewgraph import Crew, CrewOutput


class Mode:
    """One of the two ways to run: the same calls, on this thread or on an event loop."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def asynchronous(self) -> bool:
        return self.name == "async"

    def invoke(self, graph: Any, given: Any, config: Any = None, **options: Any) -> Any:
        if self.asynchronous:
            return asyncio.run(graph.ainvoke(given, config, **options))
        return graph.invoke(given, config, **options)

    def stream(self, graph: Any, given: Any, config: Any = None, **options: Any) -> list[Any]:
        async def gathered() -> list[Any]:
            return [one async for one in graph.astream(given, config, **options)]

        return asyncio.run(gathered()) if self.asynchronous else list(graph.stream(given, config, **options))

    def state(self, graph: Any, config: Any) -> Any:
        return asyncio.run(graph.aget_state(config)) if self.asynchronous else graph.get_state(config)

    def kickoff(self, crew: Crew, inputs: dict[str, Any] | None = None, **options: Any) -> CrewOutput:
        if self.asynchronous:
            return asyncio.run(crew.akickoff(inputs, **options))
        return crew.kickoff(inputs, **options)

    def resume(self, crew: Crew, thread_id: str, **options: Any) -> CrewOutput:
        if self.asynchronous:
            return asyncio.run(crew.aresume(thread_id, **options))
        return crew.resume(thread_id, **options)

    def run(self, sync: Callable[..., Any], asynchronous: Callable[..., Any], *args: Any) -> Any:
        return asyncio.run(asynchronous(*args)) if self.asynchronous else sync(*args)


@pytest.fixture(params=["sync", "async"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return Mode(request.param)


@pytest.fixture(autouse=True)
def storage(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A storage folder of the test's own, no keys and no tracing from the developer's environment."""
    folder = tmp_path_factory.mktemp("storage")
    monkeypatch.setenv("CREWGRAPH_STORAGE_DIR", str(folder))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_MODEL_NAME", "MODEL", "MODEL_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    return folder


@pytest.fixture(autouse=True)
def quiet_unknown_keywords() -> Iterator[None]:
    """Warnings about unknown keywords are told once in a process: each test is to see its own."""
    from crewgraph.definitions import definition

    told = definition._told  # pyright: ignore[reportPrivateUsage]
    before = set(told)
    told.clear()
    yield
    told.update(before)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server; skipped, loudly, where none is installed."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with running_postgres() as server:
        from langgraph.checkpoint.postgres import PostgresSaver

        with PostgresSaver.from_conn_string(server.dsn) as saver:
            saver.setup()
        yield server
