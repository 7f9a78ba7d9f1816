"""LangGraph's published conformance suite, every capability set."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

from langgraph.checkpoint.conformance import checkpointer_test, validate

from crewgraph.storage.checkpoints import SqliteCheckpointer

CAPABILITIES = ["put", "put_writes", "get_tuple", "list", "delete_thread", "delete_for_runs", "copy_thread", "prune"]


def test_the_checkpointer_passes_langgraphs_conformance_suite(tmp_path: Path):
    @checkpointer_test(name="SqliteCheckpointer")
    async def checkpointer() -> AsyncGenerator[SqliteCheckpointer, None]:
        async with SqliteCheckpointer(tmp_path / "runs.sqlite") as saver:
            yield saver
            (tmp_path / "runs.sqlite").unlink()

    report = asyncio.run(validate(checkpointer))

    assert {name: result.failures for name, result in report.results.items()} == {name: [] for name in CAPABILITIES}
    assert all(result.detected and result.passed for result in report.results.values())
    assert sum(result.tests_passed for result in report.results.values()) > 60
