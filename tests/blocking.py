"""Blocking calls on an event loop are errors, as LangGraph's server (`langgraph dev`) has them."""

from collections.abc import Generator
from contextlib import contextmanager

from blockbuster import BlockBuster

__all__ = ["no_blocking_calls"]

_ALLOWED = {  # what langgraph-runtime-inmem 0.30 switches off
    "os.stat",
    "os.listdir",
    "os.remove",
    "io.BufferedReader.read",
    "io.BufferedWriter.write",
    "io.TextIOWrapper.read",
    "io.TextIOWrapper.write",
    "threading.Lock.acquire",
}


@contextmanager
def no_blocking_calls() -> Generator[None]:
    """Raise `blockbuster.BlockingError` for blocking calls on event loops in a block."""
    watch = BlockBuster(excluded_modules=[])
    watch.functions["os.path.abspath"].can_block_in("inspect.py", "getmodule")
    for name in [name for name in watch.functions if name in _ALLOWED or name.startswith("os.path.")]:
        del watch.functions[name]
    watch.activate()
    try:
        yield
    finally:
        watch.deactivate()
