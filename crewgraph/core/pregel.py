"""LangGraph's private parts that crewgraph needs, all in this file; `tests/core/test_pregel_contract.py` holds each of them.

Where a node stands: its checkpointer, its task, the checkpoint it was started from. And the positional counters that
LangGraph keeps for `interrupt()`, `@task` and nested graphs inside a node, which effects must make their own: an effect that
is answered from the record runs no user code, so what that code would have counted has to be counted for it.
"""

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, set_config_context
from langgraph._internal._runnable import RunnableSeq
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.pregel import Pregel
from langgraph.types import Interrupt

from crewgraph.core.replay import is_traced

if TYPE_CHECKING:
    from langgraph.pregel._read import PregelNode

__all__ = [
    "KEPT_NOWHERE",
    "Place",
    "Used",
    "answers_waiting",
    "asked_in",
    "coming",
    "counted",
    "given_to",
    "has_next",
    "inside_effect",
    "leads_on",
    "place_of",
    "trace_on_demand",
    "untraced",
    "with_answers",
    "written_since_start",
]


_SAVER = "__pregel_checkpointer"
_DURABILITY = "__pregel_durability"
_TASK = "__pregel_task_id"
_RESUMING = "__pregel_resuming"
_SCRATCHPAD = "__pregel_scratchpad"
_CALL = "__pregel_call"
_SEND = "__pregel_send"
_RESUME = "__resume__"
_NAMESPACE = "checkpoint_ns"
_MAP = "checkpoint_map"
_THREAD = "thread_id"
_CHECKPOINT = "checkpoint_id"
_INPUT = "__start__"
_BRANCH = "branch:to:"
_JOIN = "join:"
_QUESTION = "__interrupt__"

KEPT_NOWHERE: RunnableConfig = {"configurable": {_DURABILITY: "async"}}
"""For a graph with `checkpointer=False` inside a run: LangGraph fails where it inherits "sync", having nothing to wait for."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a node stands in a run."""

    saver: "BaseCheckpointSaver[Any] | None"
    durability: str | None
    """sync, async or exit; None where the run has no checkpointer."""

    task: str
    """LangGraph's id of this execution of the node; the same after a crash, another in a fork."""

    again: bool
    """Whether the node may have run before: a resume, or a retry in this process."""

    thread: str
    home: RunnableConfig | None
    """The address of the checkpoint the node was started from."""

    above: tuple[RunnableConfig, ...]
    """The addresses of that checkpoint and of its parents' ones, outermost first."""


def place_of(config: RunnableConfig) -> Place:
    """Where the node that got this config stands."""
    conf: Mapping[str, Any] = config.get("configurable") or {}
    thread = str(conf.get(_THREAD, ""))
    task, again = str(conf.get(_TASK, "")), bool(conf.get(_RESUMING))
    saver: BaseCheckpointSaver[Any] | None = conf.get(_SAVER) or None
    if saver is None:
        return Place(saver=None, durability=None, task=task, again=again, thread=thread, home=None, above=())
    checkpoints: Mapping[str, object] = conf.get(_MAP) or {}

    def address(namespace: str) -> RunnableConfig:
        return {
            "configurable": {
                _THREAD: thread,
                _NAMESPACE: namespace,
                _CHECKPOINT: checkpoints.get(namespace),
            }
        }

    # The last segment of a node's namespace names the node's own task: its checkpoint lies one level up.
    own = str(conf.get(_NAMESPACE, "")).rpartition("|")[0]
    return Place(
        saver=saver,
        durability=conf.get(_DURABILITY),
        task=task,
        again=again,
        thread=thread,
        home=address(own) if own in checkpoints else None,
        above=tuple(address(namespace) for namespace in checkpoints),
    )


class _Counted:
    """A positional counter that still counts for the node, and also for one effect."""

    def __init__(self, counter: Callable[..., object]) -> None:
        self._counter = counter
        self.used = 0

    def __call__(self, *args: Any, **kwargs: object) -> object:
        self.used += 1
        return self._counter(*args, **kwargs)


class _ByPath:
    """Numbers for nested graphs from the effect's path, not from who came first or was skipped."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._used = 0

    def __call__(self) -> int:
        self._used += 1
        name = f"{self._path}/{self._used}".encode()
        return int.from_bytes(hashlib.blake2b(name, digest_size=6).digest(), "big")


def with_answers(config: RunnableConfig, answers: Sequence[object]) -> RunnableConfig:
    """The config for user code whose calls of `interrupt` these are the answers to, in their order."""
    conf: Mapping[str, Any] = config.get("configurable") or {}
    pad = conf.get(_SCRATCHPAD)
    if pad is None:
        return config

    def no_other(consume: bool = False) -> None:
        """What the run was resumed with is for whom it was asked by."""

    own = replace(
        pad,
        interrupt_counter=count().__next__,
        resume=list(answers),
        get_null_resume=no_other,
    )
    send: Callable[[Sequence[tuple[str, object]]], None] | None = conf.get(_SEND)

    def sent(writes: Sequence[tuple[str, object]]) -> None:
        if send is not None and any(channel != _RESUME for channel, _ in writes):
            send(writes)

    return {**config, "configurable": {**conf, _SCRATCHPAD: own, _SEND: sent}}


Used = Callable[[], dict[str, int]]
"""How often an effect asked a human ("asks") and called `@task` functions ("tasks"); only what is not zero."""


def inside_effect(config: RunnableConfig, path: str) -> tuple[RunnableConfig, Used]:
    """The config for user code inside the effect at `path`, and what that code used of the node's counters."""
    conf: Mapping[str, Any] = config.get("configurable") or {}
    pad = conf.get(_SCRATCHPAD)
    if pad is None:
        return config, dict
    asks = _Counted(pad.interrupt_counter)
    changed: dict[str, Any] = {**conf}
    counters: list[tuple[str, _Counted]] = [("asks", asks)]
    if (call := conf.get(_CALL)) is not None:
        tasks = _Counted(call)
        changed[_CALL] = tasks
        counters.append(("tasks", tasks))
    changed[_SCRATCHPAD] = replace(pad, interrupt_counter=asks, subgraph_counter=_ByPath(path))

    def used() -> dict[str, int]:
        return {name: counter.used for name, counter in counters if counter.used}

    own: RunnableConfig = {**config, "configurable": changed}
    return own, used


def counted(config: RunnableConfig, record: Mapping[str, Any]) -> None:
    """Count for the node what an effect answered from its record had used."""
    conf: Mapping[str, Any] = config.get("configurable") or {}
    pad = conf.get(_SCRATCHPAD)
    if pad is None:
        return
    numbers = [pad.interrupt_counter() for _ in range(record.get("asks", 0))]
    if numbers and (lost := max(numbers) + 1 - len(pad.resume)) > 0:
        # LangGraph keeps a node's answers when the node ends or asks; a process that dies before that loses them, and the
        # numbers of later questions would have no answers below them.
        pad.resume.extend([None] * lost)
        if (send := conf.get(_SEND)) is not None:
            send([(_RESUME, list(pad.resume))])
    for _ in range(record.get("tasks", 0)):
        pad.call_counter()


def written_since_start(saved: CheckpointTuple) -> dict[str, Any]:
    """The values at a checkpoint that were written since the run in it was begun; others are of earlier runs in its thread."""
    versions: Mapping[str, object] = saved.checkpoint["channel_versions"]
    start: Any = versions.get(_INPUT)
    values: Mapping[str, Any] = saved.checkpoint["channel_values"]
    return {name: value for name, value in values.items() if start is None or versions.get(name, start) > start}


def leads_on(channel: str) -> bool:
    """Whether a channel says what is to run, or what is asked: `goes_on` and `asked_in` look at these alone."""
    return channel in (_INPUT, _QUESTION, _RESUME) or channel.startswith((_BRANCH, _JOIN))


def has_next(values: Mapping[str, object]) -> bool:
    """Whether a graph has something to run at a checkpoint with these values, all of whose writes were applied."""
    return _INPUT in values or bool(coming(values))


def given_to(values: Mapping[str, Any]) -> Any:
    """The input that a graph has not taken yet at such a checkpoint; None where it has."""
    return values.get(_INPUT)


def coming(values: Mapping[str, Any]) -> list[str]:
    """The nodes that a graph runs next at such a checkpoint; none where it has not taken its input yet."""
    found: list[str] = []
    for channel, value in values.items():
        if channel.startswith(_BRANCH):
            found.append(channel[len(_BRANCH) :])
        elif channel.startswith(_JOIN):
            # The name of a join holds the names of all that are waited for; its value those that have come.
            awaited, _, node = channel[len(_JOIN) :].rpartition(":")
            if len("+".join(value)) == len(awaited):
                found.append(node)
    return found


def asked_in(writes: Iterable[tuple[str, str, Any]]) -> list[Interrupt]:
    """What was asked last by each task, among what was written since a checkpoint.

    A task that was answered and asks again holds both answer and question. So whether the answer is that to the question, the
    answer does not tell: a run that was killed right after it was answered seems to ask still.
    """
    return [one for _, channel, asked in writes if channel == _QUESTION for one in asked]


def answers_waiting(config: RunnableConfig) -> bool:
    """Whether a human's answers are there for this node: parallel branches would race for them."""
    pad = (config.get("configurable") or {}).get(_SCRATCHPAD)
    return pad is not None and bool(pad.resume or pad.get_null_resume(False) is not None)


class _Untraced(Runnable[Any, Any]):
    """The steps of a node, what it does and what it writes, without the run that LangGraph makes of them in the trace."""

    def __init__(self, steps: Sequence[Runnable[object, Any]]) -> None:
        self._first, *self._writers = steps

    def invoke(self, input: object, config: RunnableConfig | None = None, **kwargs: object) -> Any:
        config = ensure_config() if config is None else config
        with set_config_context(config) as context:
            value = context.run(self._first.invoke, input, config, **kwargs)
        for writer in self._writers:
            value = writer.invoke(value, config)
        return value

    async def ainvoke(self, input: object, config: RunnableConfig | None = None, **kwargs: object) -> Any:
        config = ensure_config() if config is None else config
        with set_config_context(config) as context:
            value = await asyncio.create_task(self._awaited(input, config, kwargs), context=context)
        for writer in self._writers:
            value = await writer.ainvoke(value, config)
        return value

    async def _awaited(self, input: object, config: RunnableConfig, given: dict[str, Any]) -> object:
        return await self._first.ainvoke(input, config, **given)


class _TracedOnDemand(_Untraced):
    """The steps of a node: with their run in the trace where somebody watches, without it elsewhere."""

    def __init__(self, traced: RunnableSeq) -> None:
        super().__init__(cast("Sequence[Runnable[Any, Any]]", traced.steps))
        self._traced = traced

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: object) -> Any:
        if config is None or is_traced(config):
            return self._traced.invoke(input, config, **kwargs)
        return super().invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: object) -> Any:
        if config is None or is_traced(config):
            return await self._traced.ainvoke(input, config, **kwargs)
        return await super().ainvoke(input, config, **kwargs)


def trace_on_demand(nodes: "Mapping[str, PregelNode]") -> None:
    """Let the nodes of a compiled graph make no run for a trace that nobody sees."""
    for node in nodes.values():
        if type(node.node) is RunnableSeq:
            vars(node)["node"] = _TracedOnDemand(node.node)  # in the place of the cached one


def untraced(graph: "Pregel[Any]", *names: str) -> None:
    """Let traces show no runs of some nodes of a compiled graph, which make those that are to be seen themselves."""
    for name in names:
        node = graph.nodes[name]
        vars(node)["node"] = _Untraced(getattr(node.node, "steps"))  # noqa: B009 - in the place of the cached one
