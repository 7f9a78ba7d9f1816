"""What a run tries of all combinations: a part (`make test`), or everything (`make test-all`, or `ALL=1` in the environment).

In a quick run a test has one of its modes, which its name decides, so that all modes have their share of the tests.
There are also fewer random examples, and a sample of the long tables of kills.
"""

import os
from collections.abc import Iterable
from zlib import crc32

import pytest

__all__ = ["ALL", "CREW_MODES", "left_out", "of"]

ALL = os.environ.get("ALL", "") not in ("", "0")

CREW_MODES = ("sync", "async", "sync-step", "async-step")
"""The modes of crews: sync or async, with a node per task or per step."""


def of(quick: int, everything: int) -> int:
    """Return the number of examples to try."""
    return everything if ALL else quick


def left_out(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the tests that a quick run leaves out: each one in all of its modes but one."""
    if ALL:
        return []
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            mode = item.callspec.params.get("mode")
            if mode in CREW_MODES:
                name = f"{item.nodeid.removesuffix(']').replace('[', '-', 1)}-".replace(f"-{mode}-", "-", 1)
                groups.setdefault(name, []).append(item)
    return [
        item
        for name, modes in groups.items()
        for at, item in enumerate(modes)
        if at != crc32(name.encode()) % len(modes)
    ]
