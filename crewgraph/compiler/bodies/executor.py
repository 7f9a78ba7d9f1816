"""An agent's work by its executor: one call, recorded with what the models in it used."""

from collections.abc import Sequence
from typing import Any

from crewgraph.compiler.executor import Executor
from crewgraph.core.effects import Body, Call
from crewgraph.core.messages import Message
from crewgraph.llm.usage import UsageLedger

__all__ = ["carried_out"]


def carried_out(executor: Executor, messages: Sequence[Message], context: str, usage: UsageLedger) -> Body[str]:
    """The answer of an executor to a conversation; what its models used is added to `usage`."""
    told: dict[str, Any] = yield Call(
        function=executor.run,
        afunction=executor.arun,
        args=(executor.given(messages, context),),
        name=executor.name,
        kind="agent",
        about=[messages, context],
    )
    usage.add(told["usage"])
    return told["answer"]
