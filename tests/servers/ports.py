"""Ports for servers that are told which one to listen on.

A port that is merely free may be taken before the server starts, or while it restarts. These are held by a socket that does not
listen: Linux gives its port to nobody who asks for any, and a server that sets SO_REUSEADDR, as uvicorn and asyncio do, can still
listen there.
"""

import socket
import weakref
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["reserve_port", "reserved_port"]


def reserve_port(owner: object) -> int:
    """Return a port that nobody else gets while the owner exists."""
    held = _held()
    weakref.finalize(owner, held.close)
    return held.getsockname()[1]


@contextmanager
def reserved_port() -> Generator[int]:
    """A port that nobody else gets inside the block."""
    with _held() as held:
        yield held.getsockname()[1]


def _held() -> socket.socket:
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held
