"""Shared fixtures: sync and async runs of each behaviour, and a separate storage folder for each test."""

import atexit
import gc
import os
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextvars import copy_context
from functools import wraps
from itertools import count
from pathlib import Path
from typing import Any

import certifi
import pytest
from combinations import left_out, of
from hypothesis import HealthCheck, settings
from modes import Mode
from servers.fixtures import serve
from servers.postgres import Postgres, missing, prepared_postgres

__all__ = ["serve"]

_SECRET_ENDINGS = (
    "_API_KEY", "_API_BASE", "_BASE_URL", "_APIKEY", "_ENDPOINT", "_HOST", "_TOKEN", "MODEL", "MODEL_NAME",
)  # fmt: skip
_SECRET_BEGINNINGS = ("LANGSMITH", "LANGCHAIN", "VERTEXAI", "AWS_", "AZURE", "CREWAI_", "CREWGRAPH_STORAGE")

_numbers = count()


def _trust_one_authority() -> None:
    """Let HTTP clients load one certificate authority, which takes each of them 1 ms; the whole bundle takes 50.

    The servers of tests are on loopback, and the one that encrypts has an authority of its own.
    """
    bundle = Path(certifi.where()).read_text("ascii")
    end = "-----END CERTIFICATE-----\n"
    with tempfile.NamedTemporaryFile("w", suffix=".pem", delete=False) as file:
        file.write(bundle[: bundle.index(end)] + end)
    atexit.register(os.unlink, file.name)
    os.environ["SSL_CERT_FILE"] = file.name


if "PYTEST_XDIST_WORKER" not in os.environ:  # a worker inherits the variable
    _trust_one_authority()

# Tests make and drop many objects: collected at its usual pace, garbage takes a tenth of their time.
gc.set_threshold(10_000, 20, 20)

# A shell that runs the tests in the background has them ignore Ctrl-C, and the processes that they start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Drawn examples are the same in each run, and a machine that stands still is no fault of what is tested;
# `--hypothesis-profile=default` looks for others.
settings.register_profile(
    "same",
    max_examples=of(20, 100),
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("same")


@pytest.fixture(params=["sync", "async"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return Mode(request.param)


@pytest.fixture(autouse=True)
def storage(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give each test its own storage folder, without keys and tracing from the developer's environment."""
    folder = tmp_path_factory.getbasetemp() / "storages" / str(next(_numbers))  # `mktemp` lists all earlier folders
    folder.mkdir(parents=True)
    for name in list(os.environ):
        if name.upper().endswith(_SECRET_ENDINGS) or name.startswith(_SECRET_BEGINNINGS):
            monkeypatch.delenv(name)
    monkeypatch.setenv("CREWGRAPH_STORAGE_DIR", str(folder))
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    yield folder
    opened = sys.modules.get("crewgraph.runtime.runs.storage")  # what a process keeps open, thousands of tests need not
    database = None if opened is None else opened._checkpointers.pop(folder / opened.DATABASE, None)
    if database is not None:
        database.close()
    stores = sys.modules.get("crewgraph.storage.store.namespace")
    if stores is not None:
        stores.close_stores(folder)


@pytest.fixture(autouse=True)
def nothing_told_yet() -> Iterator[None]:
    """Reset warnings that are shown once per process, so that each test sees its own."""
    from crewgraph import deprecations
    from crewgraph.definitions import base

    sets: list[set[Any]] = [vars(base)["_warned"], vars(deprecations)["_already_warned"]]
    before = [set(reported) for reported in sets]
    for reported in sets:
        reported.clear()
    yield
    for reported, earlier in zip(sets, before, strict=True):
        reported.update(earlier)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server; the test is skipped with a message if none is installed."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with prepared_postgres() as server:
        yield server


_failed_once: set[str] = set()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: Any) -> Generator[None, Any, Any]:
    """Forget the first failure of a shared fixture, so that the next test sets it up again.

    Otherwise a server that could not start once fails every test that uses it.
    """
    try:
        return (yield)
    except Exception:
        if fixturedef.scope != "function" and fixturedef.argname not in _failed_once:
            _failed_once.add(fixturedef.argname)
            fixturedef.finish(request)
        raise


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Run each test in a context of its own: what it leaves set, such as the event scopes it opened, no other test finds."""
    test = pyfuncitem.obj

    @wraps(test)
    def in_own_context(**fixtures: Any) -> None:
        copy_context().run(test, **fixtures)

    pyfuncitem.obj = in_own_context


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run each test in one of its modes, unless all are asked for."""
    others = set(left_out(items))
    config.hook.pytest_deselected(items=list(others))
    items[:] = [item for item in items if item not in others]


def pytest_collection_finish() -> None:
    """Leave what was collected out of garbage collections: it stays, and looking at it costs more than most tests."""
    gc.collect()
    gc.freeze()
