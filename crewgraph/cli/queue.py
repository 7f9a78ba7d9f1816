"""Commands of a queue: `crewgraph worker` executes its jobs, `crewgraph jobs` lists them."""

import asyncio
import logging
import signal
import sys
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import typer

from crewgraph.cli.output import AsJson, print_json, print_line, print_table, print_text
from crewgraph.cli.target import load_factory
from crewgraph.errors import RunError
from crewgraph.extensions import extension
from crewgraph.extras import require
from crewgraph.text import printable_line, shorten

_EXCERPT = 80  # characters of an error in a table
_STOPPING = (
    "no further runs are started; again to stop the running ones now",
    "the running ones are stopped; those whose tools work in threads after these tools",
)

_QueueAddress = Annotated[
    str | None,
    typer.Option(
        "--queue",
        envvar="CREWGRAPH_QUEUE",
        help="The address of the queue's Postgres database, such as `postgresql://localhost/runs`.",
        show_default=False,
    ),
]
"""The `--queue` option."""


def worker(
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            help="A crew or flow to run, as `file.py:name` or `package.module:name`; can be given several times. By default "
            "that of the project.",
            show_default=False,
        ),
    ] = None,
    queue: _QueueAddress = None,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="Maximum number of concurrent runs.")] = 4,
    grace: Annotated[
        float, typer.Option("--grace", min=0, help="Seconds that runs may continue after Ctrl-C or SIGTERM.")
    ] = 20.0,
    stalled_after: Annotated[
        float,
        typer.Option(
            "--stalled-after", min=0, help="After how many seconds of silence a worker's jobs are given to others."
        ),
    ] = 60.0,
    burst: Annotated[
        bool, typer.Option("--burst", help="End when no job is due within a minute, instead of waiting for more jobs.")
    ] = False,
) -> None:
    """Execute the runs in a queue.

    Programs add runs with `crew.enqueue(inputs)` or `flow.enqueue(inputs)`. Start any number of workers, on any number of
    machines: if one dies, another resumes its runs without repeating recorded work.
    """
    factories = [load_factory(name) for name in target or [None]]
    with _open_queue(queue) as opened:
        queue_worker = extension("queue.worker")(
            opened, factories, concurrency=concurrency, grace=grace, stalled_after=stalled_after
        )
        _log_to_stderr()
        names = ", ".join(f"`{name}`" for name in queue_worker.queues)
        print_line(f"working on {names}, {concurrency} at a time; Ctrl-C stops", err=True)
        asyncio.run(_work(queue_worker, burst))


async def _work(queue_worker: Any, burst: bool) -> None:
    loop = asyncio.get_running_loop()
    running = asyncio.ensure_future(queue_worker.run(wait=not burst))
    texts = iter(_STOPPING)

    def stop(name: str) -> None:
        print_line(f"{name}: {next(texts, _STOPPING[-1])}", err=True)
        queue_worker.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, partial(stop, number.name))
        except NotImplementedError:  # Windows, where Ctrl-C raises KeyboardInterrupt
            break
    await running


class _State(StrEnum):
    """The state of a job."""

    queued = "queued"
    working = "working"
    done = "done"
    failed = "failed"
    cancelled = "cancelled"


def jobs(
    state: Annotated[
        _State | None,
        typer.Option(
            "--state", help="List only jobs in this state; `failed` jobs are not retried.", show_default=False
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many jobs to list at most.")] = 20,
    retry: Annotated[
        list[str] | None,
        typer.Option(
            "--retry",
            help="The thread id of a failed or cancelled job to requeue; can be given several times.",
            show_default=False,
        ),
    ] = None,
    cancel: Annotated[
        list[str] | None,
        typer.Option(
            "--cancel", help="The thread id of a job to cancel; can be given several times.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
    queue: _QueueAddress = None,
) -> None:
    """List, retry or cancel the jobs of a queue.

    Without `--retry` and `--cancel`, lists the jobs, the newest first.
    """
    with _open_queue(queue) as opened:
        for thread_id in retry or ():
            if not opened.retry(thread_id):
                raise RunError(f"thread `{thread_id}` has no failed or cancelled job")
            print_line(f"{thread_id} is queued again")
        for thread_id in cancel or ():
            if not opened.cancel(thread_id):
                raise RunError(f"thread `{thread_id}` has no queued or running job")
            print_line(f"{thread_id} is cancelled")
        if retry or cancel:
            return
        found = opened.jobs(None if state is None else state.value, limit)
    if as_json:
        print_json([asdict(job) for job in found])
    elif found:
        rows = (
            (job.thread_id, job.queue, job.state, str(job.attempts), shorten(job.error or "-", _EXCERPT))
            for job in found
        )
        print_table(("thread", "queue", "state", "attempts", "last error"), rows, no_wrap=("thread",))
    else:
        print_text(f"no {state.value} jobs" if state else "no jobs")


def _open_queue(address: str | None) -> Any:
    if not address:
        raise RunError("no queue given: pass `--queue postgresql://...`, or set CREWGRAPH_QUEUE")
    require("procrastinate", extra="queue", purpose="A queue")
    return extension("queue")(address)


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable_line(super().format(record))


def _log_to_stderr() -> None:
    """Show what workers log, unless the program has configured its own logging."""
    if logging.getLogger().handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger("crewgraph.contrib.queue")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
