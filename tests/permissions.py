"""Permissions of files, for tests that root runs, too."""

import ctypes
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest

__all__ = ["permissions_hold"]

_VERSION_3 = 0x20080522
_OVERRIDE, _READ_SEARCH = 1 << 1, 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


@contextmanager
def permissions_hold() -> Generator[None]:
    """Modes of files hold for this thread, and for those that it starts meanwhile, also if they are root's.

    Root only lays down the capability to ignore them: another user could not import from a clone in root's home.
    """
    if os.geteuid() != 0:
        yield
        return
    if not sys.platform.startswith("linux"):
        pytest.skip("root ignores permissions here")
    before = _change_rights(lambda effective: effective & ~(_OVERRIDE | _READ_SEARCH))
    try:
        yield
    finally:
        _change_rights(lambda _: before)


def _change_rights(change: Callable[[int], int]) -> int:
    """Change the lower half of the effective capabilities of this thread; what it was."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = (
        (ctypes.c_uint32 * 2)(_VERSION_3, 0),
        (ctypes.c_uint32 * 6)(),
    )  # effective, permitted, inheritable, twice
    if libc.capget(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "capget")
    before = sets[0]
    sets[0] = change(before)
    if libc.capset(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "capset")
    return before
