"""Servers as pytest fixtures; a conftest imports the ones it wants."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from servers.openai_api import OpenAIServer, Script

__all__ = ["serve"]


@pytest.fixture
def serve() -> Iterator[Callable[[Script | None], OpenAIServer]]:
    """Starts an OpenAI-compatible server with a script; all are closed after the test."""
    with ExitStack() as open_servers:
        yield lambda script=None: open_servers.enter_context(OpenAIServer(script))
