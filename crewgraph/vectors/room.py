"""Memory that is free and that the system does not know of."""

import ctypes
import sys

__all__ = ["give_back"]

_trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def give_back() -> None:
    """Let the system have what was freed, where the C library keeps it for later; it may be as much as is in use."""
    if _trim is not None:
        _trim(0)
