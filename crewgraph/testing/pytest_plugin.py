"""Pytest fixtures for programs that use crewgraph: events, recordings of models, and no requests.

`--record-models=once|record|replay` says what `model_recording` does, and the ini option `crewgraph_forbid_model_requests = true`
forbids requests in every test.
"""

import re
from collections.abc import Generator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from crewgraph.testing.events import EventLog
    from crewgraph.testing.models import ModelRecording


_FORBIDS = "crewgraph_forbid_model_requests"
_FOLDER = "recordings"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the command line and ini options."""
    group = parser.getgroup("crewgraph testing", "tests of crews and flows")
    group.addoption(
        "--record-models",
        choices=["once", "record", "replay"],
        default="once",
        help="what `model_recording` does: replay a file that exists and record one that does not (the default), record all "
        "again, or never send a request",
    )
    parser.addini(_FORBIDS, "forbid requests to providers' models in every test", type="bool", default=False)


@pytest.fixture
def crewgraph_events() -> "Generator[EventLog]":
    """The events of the test, with assertions; see `crewgraph.testing.EventLog`."""
    with _module("events").record_events() as events:
        yield events


@pytest.fixture
def model_recording(request: pytest.FixtureRequest) -> "Generator[ModelRecording]":
    """Records the test's model requests in recordings/<file>/<test>.json next to it, or answers them from there."""
    name = re.sub(r"[^\w.-]+", "_", request.node.name).strip("_")
    path = request.path.parent / _FOLDER / request.path.stem / f"{name}.json"
    with _module("models").record_models(path, request.config.getoption("--record-models")) as recording:
        yield recording


@pytest.fixture(name="forbid_model_requests")
def forbid_model_requests_fixture() -> Generator[None]:
    """Forbids requests to providers' models in the test."""
    with _module("models").forbid_model_requests():
        yield


@pytest.fixture(autouse=True)
def _forbidden_by_configuration(request: pytest.FixtureRequest) -> None:
    if request.config.getini(_FORBIDS) and "model_recording" not in request.fixturenames:
        request.getfixturevalue("forbid_model_requests")


def _module(name: str) -> Any:
    return import_module(f"crewgraph.testing.{name}")  # when it is needed: pytest starts in every project
