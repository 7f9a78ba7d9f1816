"""`crewgraph serve`: crews and flows behind HTTP, in the protocol of LangGraph's server."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from crewgraph.cli.output import print_line
from crewgraph.cli.target import load_target
from crewgraph.disk import private_file
from crewgraph.errors import RunError
from crewgraph.extensions import extension
from crewgraph.extras import require
from crewgraph.settings import storage_dir

_LOCAL = ("127.0.0.1", "localhost", "::1")


def serve(
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            help="A crew, flow or LangGraph graph to serve, as `file.py:name` or `package.module:name`; can be given several "
            "times. By default the crew or flow of the project.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port to listen on; 0 takes a free one.")
    ] = 8123,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="CREWGRAPH_SERVE_TOKEN",
            help="The token that requests must have, as `Authorization: Bearer TOKEN`.",
            show_default=False,
        ),
    ] = None,
    no_token: Annotated[bool, typer.Option("--no-token", help="Let others reach the server without a token.")] = False,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-origin",
            help="An origin whose web pages may use the server, such as `https://app.example`; can be given several times.",
            show_default=False,
        ),
    ] = None,
    concurrency: Annotated[
        int,
        typer.Option(
            "--concurrency",
            min=1,
            help="Maximum number of concurrent runs; with `--queue`, set it on the workers.",
        ),
    ] = 16,
    grace: Annotated[
        float, typer.Option("--grace", min=0, help="How many seconds runs may take to stop after Ctrl-C or SIGTERM.")
    ] = 10.0,
    database: Annotated[
        Path | None,
        typer.Option(
            "--database",
            help="The database file for the runs. By default the one that `crewgraph where` shows.",
            show_default=False,
        ),
    ] = None,
    postgres: Annotated[
        str | None,
        typer.Option(
            "--postgres",
            envvar="CREWGRAPH_SERVE_POSTGRES",
            help="The address of a Postgres database for runs and records, in place of files.",
            show_default=False,
        ),
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option(
            "--queue",
            envvar="CREWGRAPH_SERVE_QUEUE",
            help="Address of a queue's Postgres database: `crewgraph worker` processes execute the runs.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Serve crews and flows over HTTP.

    The server speaks the protocol of LangGraph's server (assistants, threads, runs, streams, interrupts), so that `langgraph_sdk`
    and chat front ends for it can use them. If a server is stopped or killed, the next one continues its runs.
    With `--queue`, the server only accepts requests, and workers execute the runs.
    """
    uvicorn = require("uvicorn", extra="serve", purpose="`crewgraph serve`")
    require("starlette", extra="serve", purpose="`crewgraph serve`")
    if token is None and host not in _LOCAL and not no_token:
        raise RunError(
            f"others can reach a server on {host}: pass a token (`--token`, or CREWGRAPH_SERVE_TOKEN), or pass `--no-token`"
        )
    if queue is not None:
        require("procrastinate", extra="queue", purpose="`crewgraph serve --queue`")
        if database is not None or postgres not in (None, queue):
            raise RunError(
                "`--queue` names the database for runs and records, too; leave out `--database` and `--postgres`"
            )
        postgres = queue
    if postgres is not None:
        require("langgraph.checkpoint.postgres.aio", extra="postgres", purpose="`crewgraph serve --postgres`")
        if database is not None:
            raise RunError("`--database` and `--postgres` exclude each other; pass one of them")
    targets = [load_target(name, graphs=True) for name in target or [None]]
    opened = _opened(database) if postgres is None else extension("serve.postgres")(postgres)
    with nullcontext() if queue is None else extension("queue")(queue) as jobs:
        asyncio.run(
            _serve(uvicorn, targets, host, port, token, no_token, allow_origin or [], concurrency, grace, opened, jobs)
        )


@asynccontextmanager
async def _opened(database: Path | None) -> AsyncGenerator[tuple[Any, Any]]:
    """Open the database of runs, and the file of records next to it."""
    folder = storage_dir() if database is None else database.absolute().parent
    records = folder / ("served.db" if database is None else f"{database.stem}-served.db")
    private_file(records)
    from crewgraph.runtime.runs.storage import default_checkpointer
    from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

    async with AsyncExitStack() as stack:
        saver = default_checkpointer() if database is None else stack.enter_context(SqliteCheckpointer(database))
        yield saver, await stack.enter_async_context(extension("serve.records")(records))


async def _serve(
    uvicorn: Any,
    targets: list[Any],
    host: str,
    port: int,
    token: str | None,
    no_token: bool,
    allow_origin: list[str],
    concurrency: int,
    grace: float,
    opened: AbstractAsyncContextManager[tuple[Any, Any]],
    jobs: Any,
) -> None:
    async with opened as (saver, store):
        app = extension("serve.app")(
            targets,
            checkpointer=saver,
            store=store,
            queue=jobs,
            token=token,
            hosts=["*"] if no_token else None,
            allow_origins=allow_origin,
            concurrency=concurrency,
            grace=grace,
        )
        await asyncio.to_thread(app.state.claim)
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            log_level="warning",
            timeout_graceful_shutdown=max(int(grace), 1),
            lifespan="on",
            **extension("serve.limits"),
        )
        server = uvicorn.Server(config)
        running = asyncio.ensure_future(_served(server, f"{host}:{port}"))
        while not server.started and not running.done():
            await asyncio.sleep(0.01)
        if server.started:
            for listening in server.servers[0].sockets[:1]:  # none, if it was told to stop meanwhile
                at = listening.getsockname()
                print_line(f"serving on http://{at[0]}:{at[1]}" + ("" if token else ", without a token"), err=True)
                print_line(f"serving {', '.join(app.state.names)}; see /openapi.json", err=True)
            while not server.should_exit and not running.done():
                await asyncio.sleep(0.05)
            await app.state.stop()  # before uvicorn waits for the connections, on some of which runs are streamed
        await running


async def _served(server: Any, address: str) -> None:
    """Run uvicorn's server, which exits the process if it cannot start.

    Raises:
        RunError: It could not start; it has logged why.
    """
    try:
        await server.serve()
    except SystemExit:
        raise RunError(
            f"the server could not start on {address}; the lines above say why. If the port is in use, pass another `--port`"
        ) from None
