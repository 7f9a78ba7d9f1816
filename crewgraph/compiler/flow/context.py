"""Access to the enclosing flow for code inside a method."""

from collections.abc import Generator
from contextlib import contextmanager

from crewgraph.compiler.flow.running import Running
from crewgraph.definitions.flow.state import (
    current_flow_id,
    current_flow_method_name,
    current_flow_name,
    current_flow_request_id,
)
from crewgraph.llm.usage import LEDGERS

__all__ = ["current"]


@contextmanager
def current(running: Running) -> Generator[None]:
    """Set the enclosing flow and method of a block."""
    flow_id = running.run.flow_id
    tokens = [
        (current_flow_id, current_flow_id.set(flow_id)),
        (current_flow_request_id, current_flow_request_id.set(current_flow_request_id.get() or flow_id)),
        (current_flow_name, current_flow_name.set(running.run.name)),
    ]
    method = current_flow_method_name.set(running.method)
    ledgers = LEDGERS.set((*LEDGERS.get(), running.run.usage))
    try:
        yield
    finally:
        LEDGERS.reset(ledgers)
        current_flow_method_name.reset(method)
        for variable, token in reversed(tokens):
            variable.reset(token)
