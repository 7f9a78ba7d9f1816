"""Cheaper supersteps for plain graphs.

Every LangGraph step pays for features that few graphs use, or for every channel. Six of these costs are saved where the result
is the same:

- *The input step.* `__start__` only copies a graph's input to its channels. Its writes are applied when the loop starts, without
  scheduling a task. The stored checkpoints are the same.
- *Notifying channels.* After each step LangGraph notifies every channel that was not written to, although state channels ignore
  it; a run of a thousand tasks spends most of its time there. Only channels that may change are notified here.
- *Reading all channels for a checkpoint.* The values that a step cannot have changed are those of the checkpoint before it.
- *Comparing the versions of all channels one by one.* It is done without a loop in Python.
- *Retry bookkeeping.* A node without a retry policy or timeout runs once. LangGraph's own function handles what it raises.
- *Checkpoints of runs that are not stored.*

The methods are LangGraph's, rebound to other globals (`with_globals`). `tests/core/test_supersteps.py` checks what this relies
on; if the installed LangGraph differs, its own code runs instead.
"""

import inspect
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain, compress, repeat
from operator import ne
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph._internal._typing import MISSING
from langgraph.channels.base import BaseChannel
from langgraph.channels.ephemeral_value import EphemeralValue
from langgraph.channels.last_value import LastValue
from langgraph.checkpoint.base import Checkpoint
from langgraph.constants import START
from langgraph.errors import InvalidUpdateError
from langgraph.pregel import _algo, _loop, _retry, _runner
from langgraph.pregel._write import ChannelWrite
from langgraph.runtime import ExecutionInfo, Runtime
from langgraph.types import PregelExecutableTask

from crewgraph.core.channels import ResultChannel
from crewgraph.core.loops.bridge import awaited
from crewgraph.schema import PlainMapping

if TYPE_CHECKING:
    from langgraph.pregel._loop import PregelLoop
    from langgraph.pregel._runner import PregelRunner
else:
    PregelLoop, PregelRunner = _loop.PregelLoop, _runner.PregelRunner

__all__ = [
    "LeanLoop",
    "NodeRunner",
    "StepChannels",
    "supports_comparison",
    "supports_direct_input",
    "supports_single_attempts",
    "supports_step_channels",
    "supports_unsaved_steps",
    "supports_value_reuse",
    "with_globals",
]

_PULL = "__pregel_pull"
_RUNTIME = "__pregel_runtime"
_SEND = "__pregel_send"
_WATCHED = frozenset(("checkpoints", "tasks", "debug"))
"""Stream modes that show the step of the input."""


def with_globals(method: Any, module: ModuleType, **values: object) -> Any:
    """Return a function of LangGraph's for which some globals of its module are other objects."""
    names = {**vars(module), **values}
    function = FunctionType(method.__code__, names, method.__name__, method.__defaults__, method.__closure__)
    function.__kwdefaults__ = method.__kwdefaults__
    return function


def _uses(method: object, module: ModuleType, name: str, *parameters: str) -> bool:
    """Whether a function of LangGraph's refers to a function of its module that takes these parameters."""
    used = vars(module).get(name)
    return (
        isinstance(method, FunctionType)
        and name in method.__code__.co_names
        and callable(used)
        and tuple(inspect.signature(used).parameters) == parameters
    )


def _field_names(record: type[Any]) -> set[str]:
    return {field.name for field in fields(record)}


_TASK_FIELDS = set(
    [
        "name",
        "input",
        "proc",
        "writes",
        "config",
        "triggers",
        "retry_policy",
        "cache_key",
        "id",
        "path",
        "writers",
        "subgraphs",
        "timeout",
    ]
)

supports_step_channels = _uses(
    PregelLoop.after_tick,
    _loop,
    "apply_writes",
    "checkpoint",
    "channels",
    "tasks",
    "get_next_version",
    "trigger_to_nodes",
)
"""Whether the installed LangGraph lets channels that ignore steps be left out."""

supports_single_attempts = (
    _uses(PregelRunner.tick, _runner, "run_with_retry", "task", "retry_policy", "configurable")
    and _uses(PregelRunner.atick, _runner, "arun_with_retry", "task", "retry_policy", "stream", "configurable")
    and {"node_first_attempt_time", "node_attempt"} <= _field_names(ExecutionInfo)
    and "execution_info" in _field_names(Runtime)
    and _field_names(PregelExecutableTask) == _TASK_FIELDS
)
"""Whether nodes of the installed LangGraph can run without its bookkeeping of attempts."""

supports_direct_input = (
    _field_names(PregelExecutableTask) == _TASK_FIELDS
    and {"for_execution", "updated_channels", "trigger_to_nodes"}
    <= set(inspect.signature(cast("Any", _algo).prepare_next_tasks).parameters)
    and tuple(inspect.signature(PregelLoop.put_writes).parameters) == ("self", "task_id", "writes", "cached")
    and tuple(inspect.signature(ChannelWrite._write).parameters) == ("self", "input", "config")  # pyright: ignore[reportPrivateUsage]
)
"""Whether the input of the installed LangGraph's graphs can be passed on without a separate step."""

supports_value_reuse = (
    supports_step_channels
    and (
        "create_checkpoint" in PregelLoop._put_checkpoint.__code__.co_names  # pyright: ignore[reportPrivateUsage]
        and list(inspect.signature(cast("Any", _loop).create_checkpoint).parameters)[:3]
        == ["checkpoint", "channels", "step"]
    )
)
"""Whether checkpoints of the installed LangGraph can be made from the values of the one before."""

supports_comparison = _uses(
    PregelLoop._put_checkpoint,  # pyright: ignore[reportPrivateUsage]
    _loop,
    "get_new_channel_versions",
    "previous_versions",
    "current_versions",
)
"""Whether the versions of the installed LangGraph's channels can be compared all at once."""

supports_unsaved_steps = tuple(inspect.signature(PregelLoop._put_checkpoint).parameters) == ("self", "metadata")  # pyright: ignore[reportPrivateUsage]
"""Whether steps of the installed LangGraph can do without a checkpoint if it is not saved."""


_PASSIVE = (LastValue, ResultChannel, EphemeralValue)


class StepChannels(dict[str, BaseChannel[Any, Any, Any]]):
    """A graph's channels, with a record of those that a step may change without writing to them.

    `LastValue` and `ResultChannel` ignore steps, and an `EphemeralValue` is cleared by the first step that does not write to it.
    So only channels changed by the previous step, and channels of other types, need to be notified.
    """

    def __init__(self, channels: Mapping[str, BaseChannel[Any, Any, Any]]) -> None:
        super().__init__(channels)
        self._others = [name for name, channel in channels.items() if type(channel) not in _PASSIVE]
        self._sensitive = _StepSensitive(channels)
        self._stored: object = None
        self._may_differ: set[str] = set()

    def apply_writes(self, *args: Any) -> set[str]:
        """Apply the writes of a step as LangGraph's function does; `args` are its arguments behind the channels."""
        checkpoint, *others = args
        notified = self._sensitive.names
        updated = _algo.apply_writes(checkpoint, self._sensitive, *others)
        self._sensitive.names = (*self._others, *updated.difference(self._others))
        if notified is None:
            self._stored = None  # any channel may have changed
        else:
            self._may_differ.update(notified, updated)
        return updated

    def checkpoint(self, last: Checkpoint, step: int, **options: Any) -> Checkpoint:
        """Return the next checkpoint, as LangGraph's function does, without reading channels that are as in the last one."""
        values: dict[str, Any] = last["channel_values"]
        if values is self._stored and not options.get("channels_to_snapshot"):
            values, versions = values.copy(), last["channel_versions"].copy()
            for name in self._may_differ:
                value = self[name].checkpoint() if name in versions else MISSING
                if value is MISSING:
                    values.pop(name, None)
                else:
                    values[name] = value
            same: Checkpoint = {**last, "channel_values": values, "channel_versions": versions}
            created: Checkpoint = _create(same, None, step, **options)
        else:
            created = _create(last, self, step, **options)
        self._stored = created["channel_values"]
        self._may_differ.clear()
        return created


class _StepSensitive(dict[str, BaseChannel[Any, Any, Any]]):
    """All channels by name; iterating yields only those to notify of a step."""

    names: Sequence[str] | None = None
    """None before the first step, because a checkpoint does not record which channels its step changed."""

    def __iter__(self) -> Iterator[str]:
        return super().__iter__() if self.names is None else iter(self.names)


def _apply_writes(checkpoint: Any, channels: Any, *args: Any) -> set[str]:
    if isinstance(channels, StepChannels):
        return channels.apply_writes(checkpoint, *args)
    return _algo.apply_writes(checkpoint, channels, *args)


def _create_checkpoint(checkpoint: Checkpoint, channels: Any, step: int, **options: Any) -> Checkpoint:
    if isinstance(channels, StepChannels):
        return channels.checkpoint(checkpoint, step, **options)
    return _create(checkpoint, channels, step, **options)


def _new_versions(previous_versions: Mapping[str, Any], current_versions: dict[str, Any]) -> dict[str, Any]:
    """Return the channels with other versions than before, as LangGraph's function does by comparing each in turn."""
    if not previous_versions:
        return current_versions
    known = len(previous_versions)
    if [*previous_versions] == [*current_versions][:known]:  # as always, but after an edit
        is_new = chain(map(ne, current_versions.values(), previous_versions.values()), repeat(True))
    else:
        is_new = map(ne, current_versions.values(), map(previous_versions.get, current_versions))
    return {name: current_versions[name] for name in compress(current_versions, is_new)}


def _itself(checkpoint: Checkpoint) -> Checkpoint:
    return checkpoint


_create: Any = cast("Any", _loop).create_checkpoint
_replaced: dict[str, object] = {}
if supports_value_reuse:
    _replaced["create_checkpoint"] = _create_checkpoint
if supports_comparison:
    _replaced["get_new_channel_versions"] = _new_versions
_put_checkpoint = with_globals(PregelLoop._put_checkpoint, _loop, **_replaced)  # pyright: ignore[reportPrivateUsage]
_put_uncopied_checkpoint = with_globals(
    PregelLoop._put_checkpoint,  # pyright: ignore[reportPrivateUsage]
    _loop,
    copy_checkpoint=_itself,
    **_replaced,
)


class LeanLoop(PregelLoop):
    """The overridden part of LangGraph's loop; a base of the loops in `saving.py`."""

    _inline = False
    """Whether `submit` saves a checkpoint before it returns, or copies it: LangGraph need not copy what it hands over."""

    if supports_step_channels:
        after_tick = with_globals(PregelLoop.after_tick, _loop, apply_writes=_apply_writes)

    def _first(self, *, input_keys: str | Sequence[str], updated_channels: set[str] | None) -> set[str] | None:
        updated = super()._first(input_keys=input_keys, updated_channels=updated_channels)
        if supports_step_channels:
            self.channels = StepChannels(cast("Mapping[str, BaseChannel[Any, Any, Any]]", self.channels))
        return updated

    def _put_checkpoint(self, metadata: Any) -> None:
        if self.checkpointer or not supports_unsaved_steps or metadata is self.checkpoint_metadata:
            put = _put_uncopied_checkpoint if self._inline else _put_checkpoint
            put(self, metadata)
        else:  # it will not be read; the ids of nodes hold the number of the step
            metadata["step"] = self.step
            metadata["parents"] = {}
            self.checkpoint_metadata = metadata
            self.step += 1

    def apply_input(self) -> bool:
        """Apply the graph's input without running `__start__` as a node; return False if it must run."""
        if not supports_direct_input or self.updated_channels != {START} or not self._can_apply_input():
            return False
        writes: deque[tuple[str, Any]] = deque()
        config: RunnableConfig = {"configurable": {_SEND: writes.extend}}
        start: Any = self.nodes[START]
        value: object = cast("Any", self.channels[START]).get()
        try:
            for writer in start.flat_writers:
                writer._write(value, config)
        except InvalidUpdateError:
            return False  # the node will raise it again, with LangGraph's note on the place
        task = self._input_task(writes)
        if not writes or task is None:
            return False
        self.tasks = {task.id: task}
        if self.checkpointer:
            self.put_writes(task.id, cast("Any", writes))
        self.after_tick()
        return True

    def _input_task(self, writes: deque[tuple[str, Any]]) -> PregelExecutableTask | None:
        """Return the task of the input's step, with its id if that is stored; None if other tasks are due."""
        node, task_id, path = self.nodes[START], START, (_PULL, START)
        if self.checkpointer:
            tasks = _algo.prepare_next_tasks(
                self.checkpoint,
                self.checkpoint_pending_writes,
                self.nodes,
                self.channels,
                self.managed,
                self.config,
                self.step,
                self.stop,
                for_execution=False,
                trigger_to_nodes=self.trigger_to_nodes,
                updated_channels=self.updated_channels,
            )
            if [task.name for task in tasks.values()] != [START]:
                return None
            (task_id,) = tasks
        proc = cast("Runnable[Any, Any]", node.node)
        config: RunnableConfig = {"tags": [*(node.tags or ())]}
        return PregelExecutableTask(START, None, proc, writes, config, (START,), (), None, task_id, path)

    def _can_apply_input(self) -> bool:
        """Whether the step is unobserved, no earlier work is pending, and `__start__` does nothing but write."""
        node: Any = self.nodes.get(START)
        stream = self.stream
        return (
            node is not None
            and node.mapper is None
            and node.channels == START
            and [*self.trigger_to_nodes.get(START, ())] == [START]
            and all(type(writer) is ChannelWrite for writer in node.flat_writers)
            and (stream is None or _WATCHED.isdisjoint(stream.modes))
            and not self.checkpoint_pending_writes
            and not self.is_replaying
            and self.cache_policy is None
            and self.step <= self.stop
            and not (self.control is not None and self.control.drain_requested)
        )


class _Raising(Runnable[Any, Any]):
    """Stands in for a node whose attempt has failed: restores its writes and raises its error."""

    def __init__(self, task: PregelExecutableTask, error: BaseException) -> None:
        self._task, self._writes = task, [*task.writes]
        self._errors = [error]

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        self._task.writes.extend(self._writes)
        error = self._errors.pop()
        try:
            raise error.with_traceback(error.__traceback__ and error.__traceback__.tb_next)
        finally:
            del error  # else the frame that holds it would be held by it

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return self.invoke(input, config)


def _config_of_attempt(task: PregelExecutableTask, configurable: Mapping[str, Any] | None) -> RunnableConfig | None:
    """Return the config for the only attempt of a task; None if LangGraph has to count attempts or time."""
    place: PlainMapping = task.config.get("configurable") or {}
    runtime = place.get(_RUNTIME)
    if task.timeout is not None or not isinstance(runtime, Runtime) or runtime.execution_info is None:
        return None
    # LangGraph copies both objects for each attempt. Of this task there is one, for which they have been made.
    object.__setattr__(runtime.execution_info, "node_first_attempt_time", time.time())
    return {**task.config, "configurable": {**place, **configurable}} if configurable else task.config


_run_with_retry: Any = _retry.run_with_retry
_arun_with_retry: Any = _retry.arun_with_retry


def _run_once(
    task: PregelExecutableTask, retry_policy: Sequence[Any] | None, configurable: dict[str, Any] | None = None
) -> Any:
    config = None if task.retry_policy or retry_policy else _config_of_attempt(task, configurable)
    if config is None:
        return _run_with_retry(task, retry_policy, configurable)
    task.writes.clear()
    try:
        return cast("Any", task.proc).invoke(task.input, config)
    except BaseException as error:  # noqa: BLE001 - raised by LangGraph's own function, if it does not handle it
        failed = replace(task, proc=_Raising(task, error))
    return _run_with_retry(failed, retry_policy, configurable)


async def _arun_once(
    task: PregelExecutableTask,
    retry_policy: Sequence[Any] | None,
    stream: bool = False,
    configurable: dict[str, Any] | None = None,
) -> Any:
    config = None if stream or task.retry_policy or retry_policy else _config_of_attempt(task, configurable)
    if config is None:
        return await _arun_with_retry(task, retry_policy, stream, configurable)
    task.writes.clear()
    try:
        return await awaited(cast("Any", task.proc).ainvoke(task.input, config))
    except GeneratorExit:  # the run is lost
        raise
    except BaseException as error:  # noqa: BLE001 - raised by LangGraph's own function, if it does not handle it
        failed = replace(task, proc=_Raising(task, error))
    return await _arun_with_retry(failed, retry_policy, stream, configurable)


class NodeRunner(PregelRunner):
    """LangGraph's node runner, without retry bookkeeping for nodes that never retry."""

    if supports_single_attempts:
        tick = with_globals(PregelRunner.tick, _runner, run_with_retry=_run_once)
        atick = with_globals(PregelRunner.atick, _runner, arun_with_retry=_arun_once)
