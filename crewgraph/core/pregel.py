"""The private parts of LangGraph that crewgraph uses; `tests/core/test_pregel_contract.py` checks each of them.

They locate a node (checkpointer, task, checkpoint), and give access to the positional counters that LangGraph keeps
for `interrupt()`, `@task` and nested graphs inside a node. An effect that is answered from its record runs no user code, so
the counters must be advanced for it. The last part (`InlineGraph`) substitutes the class of LangGraph's loop by one that saves
inline, which halves the price of a stored run. Nothing else depends on it: where it is not possible, LangGraph's own loop runs.
"""

import asyncio
import hashlib
import os
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from inspect import signature
from itertools import count
from threading import Lock
from traceback import walk_tb
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import ensure_config
from langgraph._internal._config import ensure_config as merged_config
from langgraph._internal._runnable import RunnableSeq
from langgraph.channels import LastValue
from langgraph.checkpoint.base import WRITES_IDX_MAP, BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.base import id as checkpoint_ids
from langgraph.constants import START
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel, main
from langgraph.pregel._algo import PULL, _xxhash_str  # pyright: ignore[reportPrivateUsage]
from langgraph.pregel._loop import AsyncPregelLoop, SyncPregelLoop
from langgraph.pregel._messages import StreamMessagesHandler
from langgraph.pregel._write import ChannelWrite, ChannelWriteTupleEntry
from langgraph.runtime import Runtime
from langgraph.types import Interrupt

from crewgraph.core.current import config_context, is_traced
from crewgraph.core.loops.threads import ThreadPool, interrupt_in, leave_threads
from crewgraph.schema import PlainDict, PlainMapping

if TYPE_CHECKING:
    from langgraph.pregel._read import PregelNode


PRIVATE_KEY = "__pregel_"
"""The prefix of LangGraph's own keys in the `configurable` of a config."""

LENT_SAVER = "__pregel_checkpointer"
"""The key of the checkpointer that a graph or a server lends to a graph, in the `configurable` of its config."""

RESUMING = "__pregel_resuming"
"""The key that tells a node, in the `configurable` of its config, whether its run continues one that has stopped."""

_DURABILITY = "__pregel_durability"
_TASK = "__pregel_task_id"
_READ = "__pregel_read"
_SCRATCHPAD = "__pregel_scratchpad"
_RUNTIME = "__pregel_runtime"
_CALL = "__pregel_call"
_SEND = "__pregel_send"
_RESUME = "__resume__"
_RESUME_MAP = "__pregel_resume_map"
_NAMESPACE = "checkpoint_ns"
_MAP = "checkpoint_map"
_THREAD = "thread_id"
_CHECKPOINT = "checkpoint_id"
_REPLAY = "__pregel_replay_state"
_INPUT = "__start__"
_BRANCH = "branch:to:"
_JOIN = "join:"
_QUESTION = "__interrupt__"
_SAVE = "_checkpointer_put_after_previous"

OWN_KEY = f"{PRIVATE_KEY}crewgraph_"
"""The prefix of crewgraph's own keys in the `configurable` of a config.

LangGraph leaves keys that begin like its own out of the configs that it streams, which callers continue from.
"""

CLAIM = f"{OWN_KEY}claim"
"""The key of a run's claim; see `crewgraph.core.claims`."""

_LOOPS_ABOVE = f"{OWN_KEY}loops_above"

ERROR = "__error__"
"""The channel name of the write that records the failure of a node."""

UNSAVED: RunnableConfig = {"configurable": {_DURABILITY: "async"}}
"""The config for a graph with `checkpointer=False` inside a run: LangGraph fails if it inherits the durability "sync"."""


@dataclass(kw_only=True, eq=False)
class Place:
    """The place of a node in a run."""

    saver: "BaseCheckpointSaver[Any] | None"
    durability: str | None
    """"sync", "async" or "exit"; None without a checkpointer."""

    task: str
    """LangGraph's id of this execution of the node; the same after a crash, different in a fork."""

    again: bool
    """Whether the node may have run before: a resume, or a retry in this process."""

    thread: str
    home: RunnableConfig | None
    """The address of the checkpoint that the node started from."""

    above: tuple[RunnableConfig, ...]
    """The addresses of that checkpoint and those of the parent graphs, outermost first."""


def _with_loops_above(config: RunnableConfig) -> RunnableConfig:
    """Return the config for a nested graph, in whose nodes `failed_save` finds the saves of the graphs around it, too."""
    conf: PlainMapping = config.get("configurable") or {}
    if (call := conf.get(_CALL)) is None:
        return config
    return {**config, "configurable": {**conf, _LOOPS_ABOVE: (*conf.get(_LOOPS_ABOVE, ()), call)}}


def show_message(message: BaseMessage) -> None:
    """Show a message of the running node in the streams of mode `messages`, as those that a node returns."""
    config = ensure_config()
    callbacks, metadata = config.get("callbacks"), config.get("metadata") or {}
    handlers: Iterable[object] = getattr(callbacks, "handlers", None) or ()
    for handler in handlers:
        if isinstance(handler, StreamMessagesHandler) and "langgraph_node" in metadata:
            run_id, name = uuid4(), metadata["langgraph_node"]
            handler.on_chain_start({}, {}, run_id=run_id, metadata=metadata, name=name)
            handler.on_chain_end([message], run_id=run_id)


def failed_save(config: RunnableConfig) -> BaseException | None:
    """Return why a checkpoint of a node's graph, or of one around it, could not be saved in the background; None if none failed.

    LangGraph raises it only when the graph ends.
    """
    conf: PlainMapping = config.get("configurable") or {}
    for call in (*conf.get(_LOOPS_ABOVE, ()), conf.get(_CALL)):
        submit = getattr(call, "keywords", {}).get("submit", lambda: None)()  # the loop refers to it weakly
        for future in list(getattr(getattr(submit, "__self__", None), "tasks", ())):
            error = future.exception() if future.done() and not future.cancelled() else None
            # Failed nodes are here, too.
            if error is not None and any(at.f_code.co_name == _SAVE for at, _ in walk_tb(error.__traceback__)):
                return error
    return None


def shared_runtime(config: RunnableConfig) -> PlainDict:
    """Return the `configurable` with which a separate run shares the caller's values, context and store of the enclosing run."""
    conf: PlainMapping = config.get("configurable") or {}
    runtime: Runtime[Any] | None = conf.get(_RUNTIME)
    shared = {} if runtime is None else {_RUNTIME: Runtime(context=runtime.context, store=runtime.store)}
    return {**callers_values(conf), **shared}


def callers_values(configurable: PlainMapping) -> PlainDict:
    """Return the values of a `configurable` that are the caller's: those that name no place of a run."""
    return {
        name: value
        for name, value in configurable.items()
        if not name.startswith(("__", "checkpoint_")) and name != _THREAD
    }


def types_around(config: RunnableConfig) -> dict[str, Any]:
    """Return the types of the state of the graph that has a node with this config, by key; empty outside of nodes."""
    read: Any = (config.get("configurable") or {}).get(_READ)
    channels: Mapping[str, Any] = {} if read is None else read.args[1]
    return {name: channel.typ for name, channel in channels.items()}


def write_around(config: RunnableConfig, updates: Sequence[tuple[str, object]]) -> None:
    """Write updates to the state of the graph that has a node with this config; for a key without a reducer, the last."""
    conf: PlainMapping = config.get("configurable") or {}
    channels, last = conf[_READ].args[1], {key: number for number, (key, _) in enumerate(updates)}
    conf[_SEND](
        [
            (key, value)
            for number, (key, value) in enumerate(updates)
            if number == last[key] or not isinstance(channels.get(key), LastValue)
        ]
    )


def place_of(config: RunnableConfig) -> Place:
    """Return the place of the node with this config."""
    conf: PlainMapping = config.get("configurable") or {}
    thread = str(conf.get(_THREAD, ""))
    task, again = str(conf.get(_TASK, "")), bool(conf.get(RESUMING))
    saver = conf.get(LENT_SAVER) or None
    if saver is None:
        return Place(saver=None, durability=None, task=task, again=again, thread=thread, home=None, above=())
    checkpoints: Mapping[str, object] = conf.get(_MAP) or {}
    above: dict[str, RunnableConfig] = {}
    for name, id in checkpoints.items():
        # What a node calls with `@task` has a namespace, but no checkpoint of its own: the map repeats the id of the node's.
        if not name or checkpoints.get(name.rpartition("|")[0]) != id:
            above[name] = {"configurable": {_THREAD: thread, _NAMESPACE: name, _CHECKPOINT: id}}
    # The last segment of a node's namespace names the node's own task: its checkpoint lies one level up.
    own = str(conf.get(_NAMESPACE, "")).rpartition("|")[0]
    while own in checkpoints and own not in above:
        own = own.rpartition("|")[0]
    return Place(
        saver=saver,
        durability=conf.get(_DURABILITY),
        task=task,
        again=again,
        thread=thread,
        home=above.get(own),
        above=tuple(above.values()),
    )


@dataclass(kw_only=True, eq=False)
class Start:
    """Where a graph is about to run, or to be edited."""

    configurable: PlainDict
    """What LangGraph makes of the `configurable` of the graph, of the enclosing run and of the call."""

    saver: "BaseCheckpointSaver[Any] | None"
    is_nested: bool
    """Whether it runs in a node of another graph."""

    again: bool
    """Whether a nested graph may have run before in this place."""

    replays: bool
    """Whether a nested graph begins anew, at a checkpoint of an enclosing run that is replayed."""


def start_of(graph: "Pregel[Any]", config: RunnableConfig | None) -> Start:
    """Return where a graph that is called with a config is about to run."""
    conf: PlainDict = dict(merged_config(graph.config, config).get("configurable") or {})
    own: object = cast("object", graph.checkpointer)
    saver = None if own is False else conf.get(LENT_SAVER, None if own is True else own)
    return Start(
        configurable=conf,
        saver=saver or None,
        is_nested=_TASK in conf,
        again=bool(conf.get(RESUMING)),
        replays=bool(conf.get(_REPLAY)),
    )


def address_of_start(graph: "Pregel[Any]", start: Start) -> RunnableConfig:
    """Return the address of the checkpoint that a graph starts from; that of the latest lacks an id.

    A node's graphs are numbered in the order in which they begin: the number is taken here, and kept for LangGraph.
    """
    conf, namespace = start.configurable, str(start.configurable.get(_NAMESPACE) or "")
    if graph.checkpointer is True:
        parts = [part.partition(":")[0] for part in namespace.split("|")]
        namespace = "|".join(part for part in parts if not part.isdigit())
    if (pad := conf.get(_SCRATCHPAD)) is not None:
        number = pad.subgraph_counter()
        conf[_SCRATCHPAD] = replace(pad, subgraph_counter=lambda: number)
        namespace = f"{namespace}|{number}" if number else namespace
    place: PlainDict = {_THREAD: conf[_THREAD], _NAMESPACE: namespace if start.is_nested else ""}
    if start.is_nested or not conf.get(_NAMESPACE):
        checkpoints: PlainMapping = conf.get(_MAP) or {}
        id = checkpoints.get(namespace, conf.get(_CHECKPOINT))
        place |= {_CHECKPOINT: id} if id else {}
    return {"configurable": place}


class _Counted:
    """Wraps a positional counter of the node to also count for one effect."""

    def __init__(self, counter: Callable[..., object]) -> None:
        self._counter = counter
        self.used = 0

    def __call__(self, *args: Any, **kwargs: object) -> object:
        self.used += 1
        return self._counter(*args, **kwargs)


class _ByPath:
    """Numbers nested graphs by the effect's path, so that the order of effects and skipped ones do not matter."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._used = 0

    def __call__(self) -> int:
        self._used += 1
        name = f"{self._path}/{self._used}".encode()
        return int.from_bytes(hashlib.blake2b(name, digest_size=6).digest(), "big")


def answers_to(config: RunnableConfig, question: str) -> list[object]:
    """Return the answer to an interrupt with this id, if the run was resumed with one."""
    answers: PlainMapping = (config.get("configurable") or {}).get(_RESUME_MAP) or {}
    return [answers[question]] if question in answers else []


_OF_THE_RUN = "00000000-0000-0000-0000-000000000000"

NO_ANSWER = ([(_RESUME, None)], _OF_THE_RUN)
"""What to `put_writes` at a graph's checkpoint in place of the value that a run of it was resumed with.

LangGraph keeps that value until the next checkpoint, and hands it to the next question of a run that is continued there.
"""


def is_single_answer(task: str, channel: str) -> bool:
    """Whether a stored write is the value that a run was resumed with."""
    return (task, channel) == (_OF_THE_RUN, _RESUME)


def answers_of(config: RunnableConfig) -> list[object]:
    """Return the answers that the questions of a node have; the one that its run was resumed with joins them when it is taken."""
    pad = (config.get("configurable") or {}).get(_SCRATCHPAD)
    return [] if pad is None else pad.resume


def _no_other(consume: bool = False) -> None:
    """Keep the resume value of the run for the question it answers."""


def _single_answer(conf: PlainMapping) -> Callable[..., Any]:
    """Return what gets the value that the run was resumed with, unless it has answers by id: LangGraph keeps earlier values."""
    pad: Any = conf[_SCRATCHPAD]
    return _no_other if conf.get(_RESUME_MAP) else pad.get_null_resume


def with_answers(config: RunnableConfig, answers: list[object], *, only: bool = True) -> RunnableConfig:
    """Return a config for user code whose calls of `interrupt` get these answers, in order.

    Unless it gets these `only`, the next call also gets the value that the run was resumed with for its one question; that is
    added to the answers.
    """
    conf: PlainMapping = config.get("configurable") or {}
    pad = conf.get(_SCRATCHPAD)
    if pad is None:
        return config
    own = replace(
        pad,
        interrupt_counter=count().__next__,
        resume=answers,
        get_null_resume=_no_other if only else _single_answer(conf),
    )
    send: Callable[[Sequence[tuple[str, object]]], None] | None = conf.get(_SEND)

    def sent(writes: Sequence[tuple[str, object]]) -> None:
        if send is not None and any(channel != _RESUME for channel, _ in writes):
            send(writes)

    return {**config, "configurable": {**conf, _SCRATCHPAD: own, _SEND: sent}}


Used = Callable[[], dict[str, int]]
"""Returns how often an effect called `@task` functions, as `{"tasks": number}`; empty if never."""


def inside_effect(config: RunnableConfig, path: str) -> tuple[RunnableConfig, Used, Callable[[], int]]:
    """Return the config for user code inside the effect at `path`, and functions that count its `@task` and `interrupt` calls."""
    conf: PlainMapping = config.get("configurable") or {}
    pad = conf.get(_SCRATCHPAD)
    if pad is None:
        return config, dict, int
    call = conf.get(_CALL)
    asks, tasks = _Counted(pad.interrupt_counter), _Counted(call or int)
    changed: PlainDict = {**conf}
    if call is not None:
        changed[_CALL] = tasks
    if conf.get(_RESUME_MAP):
        pad = replace(pad, get_null_resume=_no_other)
    changed[_SCRATCHPAD] = replace(pad, interrupt_counter=asks, subgraph_counter=_ByPath(path))
    own: RunnableConfig = {**config, "configurable": changed}
    return own, lambda: {"tasks": tasks.used} if tasks.used else {}, lambda: asks.used


def within_call(config: RunnableConfig, call: str) -> RunnableConfig:
    """Return a config whose nested graphs belong to one tool call of a node.

    LangGraph numbers the graphs that a node runs in the order in which they begin. Parallel tool calls begin in any order, a
    different one at each attempt, so that a resumed call could continue the run of another one. Inside an effect, graphs are
    already numbered by its path.

    Args:
        config: the config of the node's run.
        call: identifies this call among those of the node.
    """
    conf: PlainMapping = config.get("configurable") or {}
    pad = conf.get(_SCRATCHPAD)
    if pad is None or isinstance(pad.subgraph_counter, _ByPath):
        return config
    return {**config, "configurable": {**conf, _SCRATCHPAD: replace(pad, subgraph_counter=_ByPath(call))}}


def node_identity(config: RunnableConfig) -> int | None:
    """Return a number that all code below one execution of a node shares while it lasts; None outside of nodes."""
    pad = (config.get("configurable") or {}).get(_SCRATCHPAD)
    return None if pad is None else id(pad.call_counter)


def counted(config: RunnableConfig, record: PlainMapping) -> None:
    """Advance the node's counter of calls of `@task` by those of a recorded effect."""
    pad = (config.get("configurable") or {}).get(_SCRATCHPAD)
    if pad is None:
        return
    for _ in range(record.get("tasks", 0)):
        pad.call_counter()


def written_since_start(saved: CheckpointTuple) -> PlainDict:
    """Return the values at a checkpoint that its run wrote; others are from earlier runs of the thread."""
    versions: Mapping[str, object] = saved.checkpoint["channel_versions"]
    start: Any = versions.get(_INPUT)
    values: PlainMapping = saved.checkpoint["channel_values"]
    return {name: value for name, value in values.items() if start is None or versions.get(name, start) > start}


def leads_on(channel: str) -> bool:
    """Whether a channel determines the next nodes or the questions: `has_next` and `asked_in` read only these."""
    return channel in (_INPUT, _QUESTION, _RESUME) or channel.startswith((_BRANCH, _JOIN))


def has_next(values: Mapping[str, object]) -> bool:
    """Whether a graph has something to run at a checkpoint with these values, all of whose writes are applied."""
    return _INPUT in values or bool(coming(values))


def pending_input(values: PlainMapping) -> Any:
    """Return the input that a graph has not yet taken at such a checkpoint; None if it has."""
    return values.get(_INPUT)


def coming(values: PlainMapping) -> list[str]:
    """Return the nodes that a graph runs next at such a checkpoint; empty if it has not yet taken its input."""
    return [node for _, node in _triggered(values)]


def _triggered(values: PlainMapping) -> Iterator[tuple[str, str]]:
    """Yield the channels that start a node at a checkpoint, each with its node."""
    for channel, value in values.items():
        if channel.startswith(_BRANCH):
            yield channel, channel[len(_BRANCH) :]
        elif channel.startswith(_JOIN):
            # The name of a join lists the nodes it waits for; its value those that have ended.
            awaited, _, node = channel[len(_JOIN) :].rpartition(":")
            if len("+".join(value)) == len(awaited):
                yield channel, node


def executions(saved: CheckpointTuple) -> dict[str, str]:
    """Return the nodes that a graph runs next at a checkpoint, by the ids of these executions in `pending_writes`."""
    stored = saved.checkpoint
    return {_execution(saved, node, stored["channel_versions"]): node for node in coming(stored["channel_values"])}


def _execution(saved: CheckpointTuple, node: str, channels: Iterable[str]) -> str:
    """Return the id of a node's execution that follows a checkpoint, in a graph with some channels."""
    address: PlainMapping = saved.config.get("configurable") or {}
    above, step = str(address.get(_NAMESPACE) or ""), str(int(cast("PlainMapping", saved.metadata)["step"]) + 1)
    number = bytes.fromhex(saved.checkpoint["id"].replace("-", ""))
    triggers = sorted(
        [f"{_BRANCH}{node}", *(name for name in channels if name.startswith(_JOIN) and name.endswith(f":{node}"))]
    )
    return _xxhash_str(number, f"{above}|{node}" if above else node, step, node, PULL, *triggers)


def reached(graph: "CompiledStateGraph[Any]", saved: CheckpointTuple) -> set[str]:
    """Return the nodes that a graph would run from a checkpoint to its end, whatever its conditions decide.

    The checkpoint may be that of another graph: LangGraph ignores what it holds for nodes and joins that the graph lacks. A node
    whose writes are stored is not run again, and leads to what it led to in the graph that ran it.
    """
    values = saved.checkpoint["channel_values"]
    channels = cast("PlainMapping", graph.channels)
    triggered = {channel: node for channel, node in _triggered(values) if channel in channels}
    stored = defaultdict[str, set[str]](set)
    for execution, channel, _ in saved.pending_writes or ():
        if channel not in (ERROR, _QUESTION, _RESUME):
            stored[execution].add(channel)
    led = {node: stored.get(_execution(saved, node, channels)) for node in triggered.values()}
    edges = _Edges(graph, {name: value for name, value in values.items() if name not in triggered})
    found, ready = set[str](), list(triggered.values())
    while ready:
        node = ready.pop()
        if node not in found:
            found.add(node)
            ready += edges.after(node, led.get(node) or edges.channels[node])
    return found


class _Edges:
    """The edges of a graph, and which nodes its joins still wait for.

    Args:
        graph: the graph.
        values: a checkpoint's values, without those that start a node.
    """

    def __init__(self, graph: "CompiledStateGraph[Any]", values: PlainMapping) -> None:
        builder = graph.builder
        joins = {f"{_JOIN}{'+'.join(starts)}:{end}": (starts, end) for starts, end in builder.waiting_edges}
        self._ends = {f"{_BRANCH}{node}": node for node in builder.nodes} | {
            name: end for name, (_, end) in joins.items()
        }
        self._awaited = {name: set(starts) - set(values.get(name, ())) for name, (starts, _) in joins.items()}
        self.channels = defaultdict[str, set[str]](set)
        """The channels that each node writes to, to start others."""
        for start, end in builder.edges:
            self.channels[start].add(f"{_BRANCH}{end}")
        for name, (starts, _) in joins.items():
            for start in starts:
                self.channels[start].add(name)
        for start, branches in builder.branches.items():
            ends = (end for branch in branches.values() for end in (branch.ends or {}).values())
            self.channels[start].update(f"{_BRANCH}{end}" for end in ends)

    def after(self, node: str, channels: Iterable[str]) -> list[str]:
        """Return the nodes to start when a node has written to some channels."""
        for channel in channels:
            self._awaited.get(channel, set()).discard(node)
        return [self._ends[name] for name in channels if name in self._ends and not self._awaited.get(name)]


def interrupts_in(writes: Iterable[tuple[str, str, Any]]) -> list[Interrupt]:
    """Return the last question of each task among the writes since a checkpoint.

    A task that was answered and asks again has both an answer and a question, and the answer does not say which question it
    belongs to: a run that was killed right after an answer still seems to ask.
    """
    return [item for _, channel, questions in writes if channel == _QUESTION for item in questions]


def answers_waiting(config: RunnableConfig) -> bool:
    """Whether answers wait for this node; parallel branches would race for them."""
    conf: PlainMapping = config.get("configurable") or {}
    pad = conf.get(_SCRATCHPAD)
    return pad is not None and bool(pad.resume or _single_answer(conf)(False) is not None)


def add_writes(graph: "Pregel[Any]", name: str, writes: Callable[[Any], Sequence[tuple[str, object]]]) -> None:
    """Add writes derived from its result to a node of a compiled graph, also for edits in the node's name.

    Args:
        graph: the compiled graph, before a run.
        name: the node's name.
        writes: returns channels and the values to write.
    """
    writers = cast("list[Runnable[Any, Any]]", graph.nodes[name].writers)
    first = cast("ChannelWrite", writers[0])  # writes the state's channels; later writers trigger other nodes
    writers[0] = ChannelWrite((*first.writes, ChannelWriteTupleEntry(mapper=writes)))


def node_name(text: str) -> str:
    """Return a name as LangGraph accepts it for a node: without the characters that separate namespaces."""
    return " ".join(text.replace("|", " ").replace(":", " ").split()) or "graph"


def named_run(config: RunnableConfig | None, name: str) -> RunnableConfig:
    """Return a config that names the run in the trace, unless the caller did."""
    return config if config is not None and config.get("run_name") else {**(config or {}), "run_name": name}


class _NodeSteps(Runnable[Any, Any]):
    """The steps of a node, its runnable and its writers, for which LangGraph would always open a run in the trace.

    Args:
        traced: the steps as LangGraph runs them.
        on_demand: whether to open that run if there are callback handlers; else the node opens its own.
    """

    def __init__(self, traced: RunnableSeq, *, on_demand: bool) -> None:
        self._traced, self._on_demand = traced, on_demand
        self._first, *self._writers = cast("list[Runnable[Any, Any]]", traced.steps)
        self._shown: Callable[[Any], object] | None = getattr(self._first, "traced", None)

    def invoke(self, input: object, config: RunnableConfig | None = None, **kwargs: object) -> Any:
        if not self._on_demand or (config is not None and not is_traced(config)):
            return self._run(input, config, kwargs)
        if (show := self._shown) is None:
            return self._traced.invoke(input, config, **kwargs)
        updates: list[object] = []

        def steps(input: object, config: RunnableConfig) -> object:
            updates.append(self._run(input, config, kwargs))
            return show(updates[0])

        RunnableLambda(steps, name=self._traced.get_name()).invoke(input, config)
        return updates[0]

    async def ainvoke(self, input: object, config: RunnableConfig | None = None, **kwargs: object) -> Any:
        if not self._on_demand or (config is not None and not is_traced(config)):
            return await self._arun(input, config, kwargs)
        if (show := self._shown) is None:
            return await self._traced.ainvoke(input, config, **kwargs)
        updates: list[object] = []

        async def steps(input: object, config: RunnableConfig) -> object:
            updates.append(await self._arun(input, config, kwargs))
            return show(updates[0])

        await RunnableLambda(steps, name=self._traced.get_name()).ainvoke(input, config)
        return updates[0]

    def _run(self, input: object, config: RunnableConfig | None, given: PlainDict) -> object:
        config = _without_run(ensure_config() if config is None else config)
        with config_context(config) as context:
            value = context.run(self._first.invoke, input, config, **given)
        for writer in self._writers:
            if type(writer) is ChannelWrite:
                writer._write(value, config)  # pyright: ignore[reportPrivateUsage]
            else:
                value = writer.invoke(value, config)
        return value

    async def _arun(self, input: object, config: RunnableConfig | None, given: PlainDict) -> object:
        config = _without_run(ensure_config() if config is None else config)
        with config_context(config) as context:
            value = await asyncio.create_task(self._awaited(input, config, given), context=context)
        for writer in self._writers:
            if type(writer) is ChannelWrite:
                writer._write(value, config)  # pyright: ignore[reportPrivateUsage]
            else:
                value = await writer.ainvoke(value, config)
        return value

    async def _awaited(self, input: object, config: RunnableConfig, given: PlainDict) -> object:
        return await self._first.ainvoke(input, config, **given)


def _without_run(config: RunnableConfig) -> RunnableConfig:
    """Return a config without the name and id of a run, which would be those of the first run below."""
    if "run_name" not in config and "run_id" not in config:
        return config
    own = config.copy()
    own.pop("run_name", None)
    own.pop("run_id", None)
    return own


def trace_on_demand(nodes: "Mapping[str, PregelNode]") -> None:
    """Let the nodes of a compiled graph open a run in the trace only if there are callback handlers."""
    for node in nodes.values():
        if type(node.node) is RunnableSeq:
            vars(node)["node"] = _NodeSteps(node.node, on_demand=True)  # replaces the cached one


def untraced(graph: "Pregel[Any]", *names: str) -> None:
    """Let some nodes of a compiled graph open no run in the trace, because they open their own."""
    for name in names:
        node = graph.nodes[name]
        vars(node)["node"] = _NodeSteps(cast("RunnableSeq", node.node), on_demand=False)


def move_past(checkpoint_id: str | None) -> None:
    """Make all future ids of checkpoints in this process greater than this one.

    A saver's latest checkpoint is the one with the greatest id, and LangGraph derives ids from the clock: a process whose clock
    is behind that of the last writer would store its checkpoints below the existing ones, where no resume finds them. LangGraph's
    source of ids never goes back, so it is advanced before a run creates ids. Ids that are not LangGraph's are ignored: they are
    ordered as text and hold no time.
    """
    if checkpoint_id is None or len(checkpoint_id) != _ID_LENGTH:
        return
    try:
        made = checkpoint_ids.UUID(checkpoint_id)
    except ValueError:
        return
    source = checkpoint_ids.__dict__
    if made.version == 6 and made.time > (source[_LAST_TIME] or 0):
        with _advancing:
            source[_LAST_TIME] = max(made.time, source[_LAST_TIME] or 0)


_LAST_TIME = "_last_v6_timestamp"
_ID_LENGTH = 36
_advancing = Lock()


_Save = tuple[str, tuple[Any, ...]]
"""A call of the saver: "put" or "put_writes", and its positional arguments."""


class _Saves:
    """Saves on the thread of the run, with related saves in one transaction; the part that both loops share.

    LangGraph saves in threads or asyncio tasks of its own and then, with `durability="sync"`, waits for them. Where the saver
    says that its saves are short (`saves_inline`, with `put_many`, `put_many_nowait` and `aput_many`), handing them over costs
    more than saving. Saves that no code can observe separately are made together: a graph's input with the first step, which only
    hands it to the channels; and what the only task of a step wrote with the checkpoint after it. The rows are the same.
    """

    # Of LangGraph's loop:
    durability: str
    checkpointer: Any
    checkpointer_put_writes: Any
    nodes: Any
    tasks: Any
    _checkpointer_put_after_previous: Any
    config: RunnableConfig
    is_nested: bool

    _background: Callable[..., Any]
    _deferred: list[_Save]
    _inline = False
    _has_saved = False

    @property
    def submit(self) -> Callable[..., Any]:
        return self._submit_inline if self._inline else self._background

    @submit.setter
    def submit(self, background: Callable[..., Any]) -> None:
        self._background, self._deferred = background, []
        self._executor = cast("Any", background).__self__
        self._opened(self._executor)
        self._inline = self.durability == "sync" and getattr(self.checkpointer, "saves_inline", False) is True

    def _opened(self, executor: Any) -> None:
        """Called with what LangGraph has opened to run the nodes."""

    def _submit_inline(self, function: object, *args: Any, **options: Any) -> object:
        if function == self.checkpointer_put_writes:
            save: _Save = ("put_writes", args)
            if len(getattr(self, "tasks", ())) != 1:
                return self._save([save])  # perhaps on the thread of one of several tasks
            if WRITES_IDX_MAP.keys() & dict(args[1]).keys():
                return self._flush(save)
        elif function == self._checkpointer_put_after_previous:
            save = ("put", args[2:])
            if args[4].get("source") != "input" or START not in self.nodes:
                return self._flush(save)
        else:
            return self._background(function, *args, **options)
        self._deferred.append(save)
        return self._done()

    def _flush(self, *saves: _Save) -> Any:
        """Save what was deferred, and more."""
        deferred, self._deferred = self._deferred, []
        return self._save([*deferred, *saves])

    def _flush_before(self, running: bool) -> Any:
        """Save the input before the nodes of a step run, unless the step only hands it on."""
        if self._deferred and not (running and next(iter(self.tasks.values())).name == START):
            return self._flush()
        return None

    def _failed(self, saved: Any, error: BaseException) -> Any:
        """Return a save that failed; LangGraph raises it where it raises what a thread or task of its own met."""
        if not self._has_saved:
            self._mark_not_begun(error)
        saved.set_exception(error)
        self._executor.tasks[saved] = (False, True)
        return saved

    def _mark_not_begun(self, error: BaseException) -> None:
        setattr(error, _NOT_BEGUN, (self.config.get("configurable") or {}).get(_THREAD))

    def _enter(self) -> None:
        if self.is_nested and self.durability == "async":
            self.config = _with_loops_above(self.config)

    def _save(self, saves: list[_Save]) -> Any:
        raise NotImplementedError

    def _done(self) -> Any:
        raise NotImplementedError


_NOT_BEGUN = "__crewgraph_not_begun__"


def began(error: BaseException, thread_id: str) -> bool:
    """Whether the run of a thread that an error ended had begun, and so has stored its input."""
    return getattr(error, _NOT_BEGUN, None) != thread_id


class _SyncLoop(_Saves, SyncPregelLoop):  # pyright: ignore[reportIncompatibleVariableOverride]
    def _opened(self, executor: Any) -> None:
        # Daemon threads, started on demand: an interruption does not wait for a tool that never ends.
        executor.stack.close()
        most = self.config.get("max_concurrency") or min(32, (os.cpu_count() or 1) + 4)  # as LangGraph's own
        executor.executor = executor.stack.enter_context(ThreadPool(most, "crewgraph-node"))
        self.stack.push(self._leave_threads)

    def _leave_threads(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is not None and interrupt_in(error):
            try:
                leave_threads(self._executor.executor, (self.config.get("configurable") or {}).get(CLAIM))
            finally:  # LangGraph would wait for them
                self._executor.stack.pop_all()
                self._executor.tasks.clear()

    def __enter__(self) -> Any:
        self._enter()
        try:
            return super().__enter__()
        except BaseException as error:  # also a Ctrl-C; LangGraph would leave its threads
            self._mark_not_begun(error)
            self.stack.__exit__(*sys.exc_info())
            raise

    def tick(self) -> bool:
        running = super().tick()
        if (saved := self._flush_before(running)) is not None:
            saved.result()
        return running

    def __exit__(self, *failure: Any) -> Any:
        if self._deferred:
            self._flush()
        return super().__exit__(*failure)

    def _save(self, saves: list[_Save]) -> "Future[None]":
        try:
            self.checkpointer.put_many(saves)
        except BaseException as error:  # noqa: BLE001 - raised where LangGraph raises what a thread of its own met
            return self._failed(Future(), error)
        self._has_saved = True
        return _SAVED

    def _done(self) -> "Future[None]":
        return _SAVED


_SAVED: "Future[None]" = Future()
_SAVED.set_result(None)


class _AsyncLoop(_Saves, AsyncPregelLoop):  # pyright: ignore[reportIncompatibleVariableOverride]
    _last: "asyncio.Future[None] | None" = None

    async def __aenter__(self) -> Any:
        self._enter()
        try:
            return await super().__aenter__()
        except BaseException as error:  # also a cancellation: the opened resources are closed
            self._mark_not_begun(error)
            await self.stack.__aexit__(*sys.exc_info())
            raise

    def tick(self) -> bool:
        running = super().tick()
        if (saved := self._flush_before(running)) is not None and saved.done():
            saved.result()
        return running

    async def __aexit__(self, *failure: Any) -> Any:
        if self._deferred:
            self._flush()
        suppressed = await super().__aexit__(*failure)
        if self._deferred:  # by a node that a cancellation waited for
            deferred, self._deferred = self._deferred, []
            await self.checkpointer.aput_many(deferred)
        return suppressed

    def _save(self, saves: list[_Save]) -> "asyncio.Future[None]":
        last = self._last
        if last is None or last.done():
            self._last = None
            try:
                saved = self.checkpointer.put_many_nowait(saves)
            except BaseException as error:  # noqa: BLE001 - raised where LangGraph raises what a task of its own met
                failed = self._failed(asyncio.get_running_loop().create_future(), error)
                failed.exception()  # else asyncio reports it where LangGraph raises another error instead
                return failed
            if saved:
                self._has_saved = True
                return self._done()
        saving: asyncio.Future[None] = self._background(self._save_after, self._last, saves)
        self._last = saving
        return saving

    async def _save_after(self, last: "asyncio.Future[None] | None", saves: list[_Save]) -> None:
        if last is not None:
            await last
        await self.checkpointer.aput_many(saves)
        self._has_saved = True

    def _done(self) -> "asyncio.Future[None]":
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done


_STREAM: Any = cast("Any", Pregel).stream
_ASTREAM: Any = cast("Any", Pregel).astream
_PUT = ("self", "prev", "delta_write_futs", "config", "checkpoint", "metadata", "new_versions")


def _with_loop(method: Any, loop: type[Any], own: type[Any]) -> Any:
    """Return `Pregel.stream` or `astream` with another class of its loop, a global of their module.

    None if the installed LangGraph lacks what the class relies on, or another library has wrapped the method.
    """
    put = getattr(loop, "_checkpointer_put_after_previous", None)
    if (
        not isinstance(method, FunctionType)
        or loop.__name__ not in method.__code__.co_names
        or vars(main).get(loop.__name__) is not loop
        or put is None
        or tuple(signature(put).parameters) != _PUT
    ):
        return None
    names = {**vars(main), loop.__name__: own}
    function = FunctionType(method.__code__, names, method.__name__, method.__defaults__, method.__closure__)
    function.__kwdefaults__ = method.__kwdefaults__
    return function


_inline_stream = _with_loop(_STREAM, SyncPregelLoop, _SyncLoop)
_inline_astream = _with_loop(_ASTREAM, AsyncPregelLoop, _AsyncLoop)

saves_inline = None not in (_inline_stream, _inline_astream)
"""Whether runs save inline with the installed LangGraph."""


class InlineGraph(CompiledStateGraph[Any]):
    """A compiled graph whose runs save inline where that is possible, and whose nodes skip the trace if there are no handlers.

    Nothing changes for other graphs.

    Args:
        fields: the `vars` of a compiled graph.
    """

    def __init__(self, **fields: Any) -> None:
        own = {name: fields.pop(name) for name in list(fields) if name.startswith("_")}
        super().__init__(**fields)
        trace_on_demand(self.nodes)
        vars(self).update(own)  # LangGraph's `copy` passes all of `vars` to `__init__`

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """See LangGraph."""
        if _inline_stream is None or vars(Pregel)["stream"] is not _STREAM:
            return super().stream(input, config, **kwargs)
        return _inline_stream(self, input, config, **kwargs)

    def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """See LangGraph."""
        if _inline_astream is None or vars(Pregel)["astream"] is not _ASTREAM:
            return super().astream(input, config, **kwargs)
        return _inline_astream(self, input, config, **kwargs)
