"""A subclass of LangGraph's loop that saves on the thread that runs it, with related saves in one transaction.

LangGraph saves in threads (or asyncio tasks) of its own and then, with `durability="sync"`, waits for them. Where the saver says
that its saves are short (`InlineSaver`), handing them over costs more than saving. Two more things are saved together that
no code can observe separately: a graph's input with the first step, which only hands it to the channels; and what the only task
of a step wrote with the checkpoint after that step. The rows are the same.

`Pregel.stream` and `Pregel.astream` refer to the class of their loop as a global of their module: those of `InlineGraph` are the
same code with a subclass in that place, and nothing changes for other graphs. `tests/core/test_saving.py` holds what this relies
on; if the installed LangGraph lacks it, or another library has wrapped its methods, LangGraph's own are used.
"""

import asyncio
import inspect
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from functools import cached_property, lru_cache
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, runtime_checkable

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, copy_checkpoint
from langgraph.constants import START
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel, _loop, main
from langgraph.pregel._executor import BackgroundExecutor

if TYPE_CHECKING:
    from langgraph.pregel._loop import AsyncPregelLoop, SyncPregelLoop
else:
    AsyncPregelLoop, SyncPregelLoop = _loop.AsyncPregelLoop, _loop.SyncPregelLoop

from crewgraph.core.claims import claim_in
from crewgraph.core.interruption import interrupt_in, leave_threads
from crewgraph.core.loops.threads import ThreadPool
from crewgraph.core.pregel import trace_on_demand, with_loops_above
from crewgraph.core.supersteps import LeanLoop, NodeRunner, with_globals

__all__ = ["InlineGraph", "InlineSaver", "Save", "began", "supported"]

Save = tuple[str, tuple[Any, ...]]
"""A saver call: "put" or "put_writes", and its positional arguments."""


@runtime_checkable
class InlineSaver(Protocol):
    """A checkpointer whose saves are short enough to run on the run's own thread or event loop."""

    saves_inline: bool

    def put_many(self, saves: Sequence[Save], /) -> None:
        """Perform saves of one thread and namespace, in order, in one transaction.

        A checkpoint in them is the loop's own, which it changes afterwards: do not keep it.
        """
        ...

    def put_many_nowait(self, saves: Sequence[Save], /) -> bool:
        """Like `put_many`; if that would block, save nothing and return False."""
        ...

    async def aput_many(self, saves: Sequence[Save], /) -> None:
        """Async version of `put_many`, off the event loop."""
        ...


_FutureT = TypeVar("_FutureT")
_Submit = Callable[..., Any]


class _Saves:
    """The shared part of both loops: which saves run inline, and which are held for the next one."""

    # Of LangGraph's loop:
    durability: str
    checkpointer: Any
    checkpointer_put_writes: Any
    nodes: Any
    tasks: Any
    _checkpointer_put_after_previous: Any

    config: RunnableConfig
    is_nested: bool

    _background: _Submit
    _inline = False

    @property
    def submit(self) -> _Submit:
        return self._submit_inline if self._inline else self._background

    @submit.setter
    def submit(self, background: _Submit) -> None:
        self._background = background
        self._deferred: list[Save] = []
        self._inline = self.durability == "sync" and getattr(self.checkpointer, "saves_inline", False) is True

    def _submit_inline(self, function: Any, *args: Any, **options: Any) -> Any:
        if function == self.checkpointer_put_writes:
            save: Save = ("put_writes", args)
            if len(getattr(self, "tasks", ())) != 1:
                return self._save([save])  # perhaps on the thread of one of several tasks
            for channel, _ in args[1]:
                if channel in WRITES_IDX_MAP:
                    return self._save([*self._take_deferred(), save])
            self._deferred.append(save)
            return self._done()
        if function == self._checkpointer_put_after_previous:
            save = ("put", args[2:])
            if args[4].get("source") == "input" and START in self.nodes:
                self._deferred.append(_copied(save))
                return self._done()
            return self._save([*self._take_deferred(), save])
        return self._background(function, *args, **options)

    def _take_deferred(self) -> list[Save]:
        deferred, self._deferred = self._deferred, []
        return deferred

    def _hands_input_on(self, running: bool) -> bool:
        return running and [task.name for task in self.tasks.values()] == [START]

    def _save(self, saves: list[Save]) -> Any:
        raise NotImplementedError

    def _done(self) -> Any:
        raise NotImplementedError


class _PoolOnDemand(BackgroundExecutor):
    """The executor of a loop, with a thread pool only once something is submitted: a lone task runs on the run's own thread."""

    def __init__(self, config: RunnableConfig) -> None:
        self.stack = ExitStack()
        self.tasks = {}
        self._config = config

    @cached_property
    def executor(self) -> ThreadPool:
        most = self._config.get("max_concurrency") or min(32, (os.cpu_count() or 1) + 4)  # as LangGraph's own
        return self.stack.enter_context(ThreadPool(most, "crewgraph-node"))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> bool | None:
        if "executor" in vars(self) and interrupt_in(error):
            leave_threads(self.executor, claim_in(self._config))
            return None
        return super().__exit__(kind, error, trace)


def _takes_task_path(put_writes: Any) -> bool:
    return _function_takes_task_path(getattr(put_writes, "__func__", put_writes))


@lru_cache(maxsize=64)
def _function_takes_task_path(put_writes: Callable[..., Any]) -> bool:
    return "task_path" in inspect.signature(put_writes).parameters


def _init_of(loop: type[Any]) -> Any:
    """Return the `__init__` of a loop that inspects each saver's method once, not at each run."""
    return with_globals(loop.__init__, _loop, put_writes_accepts_task_path=_takes_task_path)


class _SyncLoop(_Saves, LeanLoop, SyncPregelLoop):  # pyright: ignore[reportIncompatibleVariableOverride]
    __init__ = _init_of(SyncPregelLoop)

    def __enter__(self) -> Any:
        if self.is_nested and self.durability == "async":
            self.config = with_loops_above(self.config)
        try:
            entered = _enter(self)
            if self.apply_input() and self.checkpointer and self.durability == "sync":
                self._put_checkpoint_fut.result()
        except BaseException as error:  # also a Ctrl-C while the input was saved; LangGraph would leave its threads
            _mark_not_begun(error, self.config)
            self.stack.__exit__(*sys.exc_info())
            raise
        return entered

    def tick(self) -> bool:
        running = super().tick()
        if self._inline and self._deferred and not self._hands_input_on(running):
            self._save(self._take_deferred()).result()
        return running

    def __exit__(self, *failure: Any) -> Any:
        if self._inline and self._deferred:
            self._save(self._take_deferred())
        return super().__exit__(*failure)

    def _save(self, saves: list[Save]) -> "Future[None]":
        try:
            self.checkpointer.put_many(saves)
        except BaseException as error:  # noqa: BLE001 - raised where LangGraph raises what a thread of its own met
            future: Future[None] = Future()
            future.set_exception(error)
            _executor(self._background).tasks[future] = (False, True)
            return future
        return _SAVED

    def _done(self) -> "Future[None]":
        return _SAVED


class _AsyncLoop(_Saves, LeanLoop, AsyncPregelLoop):  # pyright: ignore[reportIncompatibleVariableOverride]
    _last: "asyncio.Future[None] | None" = None
    __init__ = _init_of(AsyncPregelLoop)

    async def __aenter__(self) -> Any:
        if self.is_nested and self.durability == "async":
            self.config = with_loops_above(self.config)
        try:
            entered = await super().__aenter__()
            if self.apply_input() and self.checkpointer and self.durability == "sync":
                await cast("asyncio.Future[None]", self._put_checkpoint_fut)
        except BaseException as error:  # also a cancellation: the opened resources are closed
            _mark_not_begun(error, self.config)
            await self.stack.__aexit__(*sys.exc_info())
            raise
        return entered

    def tick(self) -> bool:
        running = super().tick()
        if self._inline and self._deferred and not self._hands_input_on(running):
            saved = self._save(self._take_deferred())
            if saved.done():
                saved.result()
        return running

    async def __aexit__(self, *failure: Any) -> Any:
        if self._inline and self._deferred:
            self._save(self._take_deferred())
        suppressed = await super().__aexit__(*failure)
        if self._inline and self._deferred:  # by a node that a cancellation waited for
            await self.checkpointer.aput_many(self._take_deferred())
        return suppressed

    def _save(self, saves: list[Save]) -> "asyncio.Future[None]":
        last = self._last
        if last is not None and not last.done():
            self._last = self._background(self._save_after, last, [_copied(save) for save in saves])
            return cast("asyncio.Future[None]", self._last)
        self._last = None
        try:
            saved = self.checkpointer.put_many_nowait(saves)
        except BaseException as error:  # noqa: BLE001 - raised where LangGraph raises what a task of its own met
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            future.set_exception(error)
            future.exception()  # else asyncio reports it where LangGraph raises another error instead
            _executor(self._background).tasks[future] = (False, True)
            return future
        if saved:
            return self._done()
        self._last = self._background(self._save_after, None, [_copied(save) for save in saves])
        return cast("asyncio.Future[None]", self._last)

    async def _save_after(self, last: "asyncio.Future[None] | None", saves: list[Save]) -> None:
        if last is not None:
            await last
        await self.checkpointer.aput_many(saves)

    def _done(self) -> "asyncio.Future[None]":
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        future.set_result(None)
        return future


_SAVED: "Future[None]" = Future()
_SAVED.set_result(None)


def _copied(save: Save) -> Save:
    """Return a save that waits: the loop changes its checkpoint meanwhile."""
    kind, arguments = save
    if kind != "put":
        return save
    config, checkpoint, *rest = arguments
    return kind, (config, copy_checkpoint(checkpoint), *rest)


_NOT_BEGUN = "__crewgraph_not_begun__"


def _mark_not_begun(error: BaseException, config: RunnableConfig) -> None:
    setattr(error, _NOT_BEGUN, config.get("configurable", {}).get("thread_id"))


def began(error: BaseException, thread_id: str) -> bool:
    """Whether the run of a thread that an error ended had begun, and so has stored its input."""
    return getattr(error, _NOT_BEGUN, None) != thread_id


def _executor(submit: _Submit) -> Any:
    return cast("Any", submit).__self__


_STREAM: Any = cast("Any", Pregel).stream
_ASTREAM: Any = cast("Any", Pregel).astream
_PUT = ("self", "prev", "delta_write_futs", "config", "checkpoint", "metadata", "new_versions")


def _is_as_expected() -> bool:
    """Whether the installed LangGraph has all that this file relies on."""
    for method, loop in ((_STREAM, SyncPregelLoop), (_ASTREAM, AsyncPregelLoop)):
        if not isinstance(method, FunctionType) or loop.__name__ not in method.__code__.co_names:
            return False
        put = getattr(loop, "_checkpointer_put_after_previous", None)
        if vars(main).get(loop.__name__) is not loop or put is None or tuple(inspect.signature(put).parameters) != _PUT:
            return False
    enter = SyncPregelLoop.__enter__
    return (
        isinstance(enter, FunctionType)
        and "BackgroundExecutor" in enter.__code__.co_names
        and vars(_loop).get("BackgroundExecutor") is BackgroundExecutor
        and tuple(inspect.signature(BackgroundExecutor).parameters) == ("config",)
    )


supported = _is_as_expected()
"""Whether runs save inline with the installed LangGraph."""

_inline_stream = with_globals(_STREAM, main, SyncPregelLoop=_SyncLoop, PregelRunner=NodeRunner) if supported else None
_inline_astream = (
    with_globals(_ASTREAM, main, AsyncPregelLoop=_AsyncLoop, PregelRunner=NodeRunner) if supported else None
)
_enter = (
    with_globals(SyncPregelLoop.__enter__, _loop, BackgroundExecutor=_PoolOnDemand)
    if supported
    else SyncPregelLoop.__enter__
)


class InlineGraph(CompiledStateGraph[Any]):
    """A compiled graph whose runs save inline where that is possible, and whose nodes skip the trace if there are no handlers.

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
