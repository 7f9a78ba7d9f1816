"""Operations, the only code that does I/O, each with a sync and an async method; and the two drivers that run them.

A *program* is a generator that yields operations and receives their results. It holds the rules and does no I/O itself.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from crewgraph.core.cancellation import ExitRequested, Underway, giving_up
from crewgraph.core.current import CURRENT, Current, is_traced
from crewgraph.core.effects import Recorded, Scope, StepMark
from crewgraph.core.limits import Meter, check_limits
from crewgraph.core.loops.bridge import (
    TimeIsUp,
    acall,
    call,
    ended,
    in_thread,
    to_its_end,
    wait_in_thread,
    wait_on_loop,
)
from crewgraph.core.loops.threads import ThreadPool, interrupt_in, leave_threads
from crewgraph.core.tracing import aspanned, closing_runs, spanned
from crewgraph.errors import RunError, TimeLimitReached
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict
from crewgraph.scoped import HERE, give_back
from crewgraph.tracebacks import note_once

if TYPE_CHECKING:
    from crewgraph.core.claims import ThreadClaim


_logger = redacted_logger(__name__)

T = TypeVar("T")


class Operation:
    """One piece of I/O."""

    def run(self) -> Any:
        """Perform it."""
        raise NotImplementedError

    async def arun(self) -> object:
        """Perform it."""
        raise NotImplementedError


Program = Generator[Operation, Any, T]
"""A generator of operations that returns a `T`."""


def drive(program: Program[T]) -> T:
    """Run a program on this thread."""
    reply: Any = None
    step: Callable[[Any], Operation] = program.send
    try:
        while True:
            operation = step(reply)
            try:
                reply, step = operation.run(), program.send
            except BaseException as error:  # noqa: BLE001 - thrown into the program, which decides
                reply, step = interrupt_in(error) or error, program.throw
    except StopIteration as stop:
        return stop.value


async def adrive(program: Program[T]) -> T:
    """Run a program on this event loop."""
    reply: Any = None
    step: Callable[[Any], Operation] = program.send
    here = HERE.set(None)
    try:
        while True:
            operation = step(reply)
            try:
                reply, step = await operation.arun(), program.send
            except BaseException as error:  # noqa: BLE001 - thrown into the program, which decides
                if not give_back(here):  # the run is lost
                    program.close()
                    raise GeneratorExit from None
                here = HERE.set(None)
                reply, step = interrupt_in(error) or error, program.throw
    except StopIteration as stop:
        return stop.value


class Do(Operation):
    """Calls a function; on an event loop the async one, with the same arguments."""

    def __init__(
        self, function: Callable[..., Any], afunction: Callable[..., Coroutine[Any, Any, Any]], *args: Any
    ) -> None:
        self.function, self.afunction, self.args = function, afunction, args

    def run(self) -> Any:
        return self.function(*self.args)

    async def arun(self) -> object:
        return await self.afunction(*self.args)


def blocking(function: Callable[..., Any], *args: Any) -> Do:
    """Call a function that blocks; on an event loop in a thread."""
    return Do(function, partial(in_thread, function), *args)


def user_call(function: Callable[..., Any], *args: Any, twin: Callable[..., Any] | None = None) -> Do:
    """Call a user's function, sync or async; on an event loop its `twin`, if it has one."""
    return Do(partial(call, function), partial(acall, twin or function), *args)


def sleep(seconds: float) -> Do:
    """Pause."""
    return Do(time.sleep, asyncio.sleep, seconds)


def collected(source: Any, method: str, *args: Any, **kwargs: Any) -> Do:
    """List what a method of a checkpointer or a graph yields, given by its sync name."""

    async def acollect() -> list[Any]:
        require_async_methods(source)
        return [item async for item in getattr(source, f"a{method}")(*args, **kwargs)]

    return Do(lambda: list(getattr(source, method)(*args, **kwargs)), acollect)


class Saving(Operation):
    """Calls a method of a checkpointer, or of a graph with one, given by its sync name.

    Raises:
        RunError: the checkpointer cannot read on an event loop.
    """

    def __init__(self, saver: Any, method: str, *args: Any) -> None:
        self.saver, self.method, self.args = saver, method, args

    def run(self) -> Any:
        return getattr(self.saver, self.method)(*self.args)

    async def arun(self) -> object:
        if self.method.startswith("get"):
            require_async_methods(self.saver)
        saving = getattr(self.saver, f"a{self.method}")(*self.args)
        if not self.method.startswith("put") or getattr(self.saver, "saves_inline", False):
            return await saving
        # The result is recorded even if the run is cancelled. Our saver writes immediately, or in a thread, which continues.
        task = asyncio.ensure_future(saving)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            while not task.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([task])
            if not task.cancelled() and (failure := task.exception()) is not None:
                _logger.warning("What had ended before a cancellation could not be stored: %s", failure)
            raise


def require_async_methods(source: Any) -> None:
    """Raise RunError for checkpointers, and graphs with one, without async methods, whose own error has no text."""
    checkpointer: Any = getattr(source, "checkpointer", source)
    saver: object = getattr(checkpointer, "viewed", checkpointer)
    if getattr(type(saver), "aget_tuple", None) is BaseCheckpointSaver.aget_tuple:
        raise RunError(
            f"`{type(saver).__name__}` supports sync runs only; pass its async counterpart (such as "
            "`AsyncPostgresSaver`) or a `SqliteCheckpointer`, or run the crew with `kickoff` and `resume`."
        )


class Boundary(Operation):
    """The boundary between two steps of a task: does nothing, unless the driver stops there."""

    def __init__(self, stage: str, effects: Mapping[str, StepMark | Recorded | Scope] | None = None) -> None:
        self.stage = stage
        self.effects: Mapping[str, StepMark | Recorded | Scope] = effects or {}
        """The effects after it, by path."""

    def run(self) -> None:
        return None

    async def arun(self) -> None:
        return None


class Perform(Operation):
    """Performs a recorded effect; stops waiting for it at a deadline on the monotonic clock.

    It is neither started nor waited for after the time of an enclosing run is up.
    """

    def __init__(
        self, effect: Recorded, config: RunnableConfig, deadline: float | None = None, *, recorded: bool = False
    ) -> None:
        self.effect, self.config, self.deadline = effect, config, deadline
        self.underway = Underway() if recorded else None
        """Delays a cancellation until the effect is recorded; None if it is not. Who records it then raises CancelledError."""
        around = CURRENT.get().meter
        self.meter = None if around is None else Meter(around)
        """Counts what models use for it; None outside of metered runs."""

    def run(self) -> Any:
        token = CURRENT.set(Current(self.meter, *CURRENT.get()[1:]))  # costs less than `_replace`
        try:
            deadline, of_run = self._deadline()
            if deadline is None:
                return self.effect.perform(self.config)
            with self._in_time(of_run):
                return wait_in_thread(partial(self.effect.perform, self.config), deadline - time.monotonic())
        finally:
            give_back(token)

    async def arun(self) -> object:
        here = CURRENT.get()
        token = CURRENT.set(here._replace(meter=self.meter, underway=self.underway))
        try:
            deadline, of_run = self._deadline()
            work = self._aperformed() if deadline is None else self._aperformed_by(deadline, of_run)
            if self.underway is None or here.supervision is None:
                return await work
            return await self._shielded(work, self.underway)
        finally:
            give_back(token)

    @property
    def spent(self) -> PlainDict:
        """The usage spent on it, for its record."""
        if self.meter is None:
            return {}
        self.meter.at = self.meter.clock
        return self.meter.record_fields

    def _deadline(self) -> tuple[float | None, float | None]:
        """Return the deadline of the effect, and the same again if it is the deadline of the run."""
        of_run = None if self.meter is None else self.meter.deadline
        if of_run is None:
            return self.deadline, None
        check_limits()
        return (of_run, of_run) if self.deadline is None or of_run < self.deadline else (self.deadline, None)

    async def _shielded(self, work: Coroutine[object, object, object], underway: Underway) -> object:
        # Runs in an effect stop after their current one, but not half way in a tool that cannot be repeated.
        try:
            with nullcontext() if self.effect.once else underway.abandoning():
                return await to_its_end(work, underway)
        except ExitRequested as error:
            note_once(error, f"in {self.effect.label}")
            raise

    async def _aperformed(self) -> object:
        if not is_traced(self.config):
            return await self.effect.aperform(self.config)
        async with closing_runs(self.config) as config:
            return await self.effect.aperform(config)

    async def _aperformed_by(self, deadline: float, of_run: float | None) -> object:
        with self._in_time(of_run):
            return await wait_on_loop(self._aperformed(), deadline - time.monotonic())

    @contextmanager
    def _in_time(self, of_run: float | None) -> Generator[None]:
        try:
            yield
        except TimeIsUp:
            if of_run is not None:
                time.sleep(max(of_run - time.monotonic(), 0))  # clocks are read, and waits end, a little early
                check_limits()
            raise TimeLimitReached(f"{self.effect.label} was still running when the time was up") from None


def enduring(program: Program[Any], underway: Underway | None) -> Do:
    """Run a program that stores the start or the result of an effect to its end; a cancellation of the run waits.

    Args:
        program: the program.
        underway: the effect; None if its run is not stored.
    """

    async def aendure() -> Any:
        storing = adrive(program)
        return await (storing if underway is None else ended(asyncio.ensure_future(storing), underway))

    return Do(partial(drive, program), aendure)


class Spanned(Operation):
    """Runs `program` inside a span of the trace."""

    def __init__(
        self, scope: Scope, config: RunnableConfig, program: Callable[[RunnableConfig], Program[object]]
    ) -> None:
        self.scope, self.config, self.program = scope, config, program

    def run(self) -> object:
        return spanned(self.scope.name, self.scope.trace_input, self._own(), lambda config: drive(self.program(config)))

    async def arun(self) -> Any:
        return await aspanned(
            self.scope.name, self.scope.trace_input, self._own(), lambda config: adrive(self.program(config))
        )

    def _own(self) -> RunnableConfig:
        own: RunnableConfig = {
            **self.config,
            "metadata": {**(self.config.get("metadata") or {}), **self.scope.metadata},
        }
        return own


class Parallel(Operation):
    """Runs programs in parallel, each to its end; the results are what each returned or raised.

    Args:
        programs: the programs.
        claim: the claim on the run's thread, if it holds one.
    """

    def __init__(self, programs: Sequence[Program[Any]], claim: "ThreadClaim | None" = None) -> None:
        self.programs, self.claim = programs, claim

    def run(self) -> list[object]:
        def branch(program: Program[Any]) -> Any:
            try:
                return drive(program)
            except BaseException as error:  # noqa: BLE001 - a result like any other, for the interpreter
                return error

        # A separate pool: a shared one deadlocks when a branch holds branches.
        pool = ThreadPool(len(self.programs), "crewgraph-branch")
        try:
            with giving_up():
                started = [pool.submit(branch, program) for program in self.programs]
                results = [future.result() for future in started]
        except BaseException as error:
            if interrupt_in(error):
                leave_threads(pool, self.claim)
            else:
                pool.shutdown()
            raise
        pool.shutdown()
        return results

    async def arun(self) -> list[object]:
        return await asyncio.gather(*(adrive(program) for program in self.programs), return_exceptions=True)
