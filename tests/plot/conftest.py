"""A browser for all tests of this folder."""

from collections.abc import Iterator

import pytest
from servers.browser import Browser, missing, running_browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium; the tests are skipped with a message if it is not installed."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with running_browser() as running:
        yield running
