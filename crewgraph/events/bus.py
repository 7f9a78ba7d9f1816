"""The event bus: delivers events from running code to registered handlers.

A `HandlerPlan` has the handlers of one class of events, and `EventBus` calls them. `BaseEventListener` is the base of listener
classes.
"""

import asyncio
import inspect
import os
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, TypeVar

from crewgraph.annotations import signature_of
from crewgraph.events.background import PendingWork
from crewgraph.events.base import BaseEvent
from crewgraph.events.lineage import ENDS, OUTER, STARTS, assign_lineage
from crewgraph.events.stream_context import LISTENING
from crewgraph.lazy import loaded
from crewgraph.redaction import redacted_logger
from crewgraph.tracebacks import raised_by_signal

Handler = Callable[[Any, Any], Any]
"""A function of the source of an event and the event, sync or async."""

_StateHandler = Callable[[Any, Any, Any], Any]

UserHandler = Handler | _StateHandler
"""A handler as users write it; with three parameters it also gets the `RuntimeState` of the run."""


def call_handler(function: UserHandler) -> Handler:
    """Return a handler as it is called, with the source and the event."""
    handler: Any = function
    try:
        parameters = signature_of(handler).parameters.values()
    except (TypeError, ValueError):  # something built in
        return handler
    needed = [
        parameter for parameter in parameters if parameter.default is parameter.empty and parameter.kind in _BY_PLACE
    ]
    if len(needed) != _WITH_STATE:
        return handler

    @wraps(handler)
    def with_state(source: object, event: object) -> object:
        return handler(source, event, LISTENING.get().state)

    return with_state


_WITH_STATE = 3
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def handler_name(handler: UserHandler) -> str:
    """Return the handler's name for messages."""
    function = getattr(handler, "func", handler)  # functools.partial
    return str(getattr(function, "__qualname__", type(function).__qualname__))


@dataclass(frozen=True, slots=True, eq=False)
class Registration:
    """A handler and the class of events it handles."""

    event_type: type[BaseEvent]
    """The class of events, including subclasses."""

    handler: UserHandler
    """The handler."""

    alone: bool = False
    """Whether the handler ignores the scopes of events, so that no scope event is created for it."""

    @property
    def awaited(self) -> bool:
        """Whether the handler is an `async def`."""
        called = getattr(type(self.handler), "__call__", None)  # noqa: B004  (an object with an async `__call__`)
        return inspect.iscoroutinefunction(self.handler) or inspect.iscoroutinefunction(called)


@dataclass(frozen=True, slots=True, eq=False)
class HandlerPlan:
    """The handlers of one class of events, each once, in the order in which they were registered."""

    inline: tuple[Handler, ...]
    """The synchronous ones; the emitter calls them one after the other."""

    awaited: tuple[Handler, ...]
    """The `async def` ones."""

    needs_event: bool
    """Whether the event must be created: it has handlers, or opens or closes a scope for other events that have."""

    @classmethod
    def of(cls, registrations: Sequence[Registration], event_type: type[BaseEvent]) -> "HandlerPlan":
        """Return the plan for a class of events."""
        handled = [registration for registration in registrations if issubclass(event_type, registration.event_type)]
        handlers: dict[bool, list[Handler]] = {False: [], True: []}
        for number, registration in enumerate(handled):
            if not any(earlier.handler == registration.handler for earlier in handled[:number]):
                handlers[registration.awaited].append(call_handler(registration.handler))
        needs_event = bool(handled) or any(_in_scope_of(event_type, registration) for registration in registrations)
        return cls(tuple(handlers[False]), tuple(handlers[True]), needs_event)


def _in_scope_of(event_type: type[BaseEvent], registration: Registration) -> bool:
    """Whether events of a handler may be in the scope that an event opens or closes."""
    kind = _event_kind(event_type)
    if registration.alone or (kind not in STARTS and kind not in ENDS):
        return False
    return kind in OUTER or _event_kind(registration.event_type) not in OUTER


def _event_kind(event_type: type[BaseEvent]) -> object:
    field = event_type.model_fields.get("type")
    return None if field is None else field.default


_H = TypeVar("_H", bound=UserHandler)

_logger = redacted_logger("crewgraph.events")
_FAILED = "The event handler `%s` failed on the event `%s`; the run continues."

_DONE: Future[None] = Future()
_DONE.set_result(None)


class EventBus:
    """Delivers events to the handlers registered for them.

    A handler is called with the source of the event and the event. It gets the events of the class it is
    registered for and of its subclasses, so one for `BaseEvent` gets them all.

    **Order.** Synchronous handlers run on the emitting thread, in the order they were registered, before
    `emit` returns: what one thread emits, a handler sees in that order. Threads that emit at once call a
    handler at once. An `async def` becomes a task on the emitting thread's event loop if one is running,
    else on a loop of the bus; the tasks of one thread start in the order of the events. Context variables
    of the emitter are visible to handlers.

    **Failure.** What a handler raises is logged (logger `crewgraph.events`) and goes no further;
    `KeyboardInterrupt`, `SystemExit` and their like pass.

    **One run.** Sinks (`crewgraph.events.stream_context`) are called last, like synchronous handlers, with what the code of
    their context emits.

    All methods may be called from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._scopes: list[list[Registration]] = [[]]
        """The process's own registrations, then those of the open blocks of `scoped_handlers`, the latest last."""
        self._plans: dict[type[BaseEvent], HandlerPlan] = {}
        """Those of the latest registrations; replaced when these change, so that an emitter needs no lock to read them."""
        self._pending = PendingWork()

    def on(self, event_type: type[BaseEvent]) -> Callable[[_H], _H]:
        """Register the decorated function for a class of events, and its subclasses."""

        def register(handler: _H) -> _H:
            self._add(Registration(event_type, handler))
            return handler

        return register

    def register_handler(self, event_type: type[BaseEvent], handler: UserHandler, *, alone: bool = False) -> None:
        """Register a handler for a class of events; registering it again changes nothing.

        Args:
            event_type: the class; events of its subclasses count.
            handler: the handler.
            alone: whether the handler ignores the scopes of events, so that no scope event is created for it.
        """
        self._add(Registration(event_type, handler, alone=alone))

    def off(self, event_type: type[BaseEvent], handler: Handler) -> None:
        """Unregister a handler, in whatever scope it was registered; without a registration nothing happens."""
        with self._lock:
            for scope in self._scopes:
                scope[:] = [item for item in scope if item.event_type is not event_type or item.handler != handler]
            self._plans = {}

    @contextmanager
    def scoped_handlers(self) -> Generator[None]:
        """Suspend all registrations of the process for a block; inside, only those made inside apply.

        Scopes nest; of those that several threads have opened, the latest applies to all. They may be left in any order.
        """
        scope: list[Registration] = []
        with self._lock:
            self._scopes, self._plans = [*self._scopes, scope], {}
        try:
            yield
        finally:
            with self._lock:
                self._scopes, self._plans = [other for other in self._scopes if other is not scope], {}

    def wants(self, event_type: type[BaseEvent]) -> bool:
        """Whether a class of events has listeners; an event without listeners need not be created.

        A lazy reference to the class is loaded only if there are handlers that might be called with it.
        """
        plan = self._plans.get(event_type) or self._plan(event_type)
        here = LISTENING.get()
        if plan.needs_event or here.sinks:
            return True
        return bool(here.listeners) and any(listener.wants(loaded(event_type)) for listener in here.listeners)

    def emit(self, source: object, event: BaseEvent) -> Future[None] | None:
        """Deliver an event to its handlers.

        Returns:
            None without listeners; otherwise a future that is done when all handlers are: immediately if none
            is an `async def`. Never block on it on the thread whose event loop runs the handlers.
        """
        assign_lineage(event)
        plan = self._plan(type(event))
        handlers = (*plan.inline, *_context_handlers(type(event)))
        if not (handlers or plan.awaited):
            return None
        for handler in handlers:
            if (unfinished := _call(handler, source, event)) is not None:
                self._pending.start(unfinished, f"the event `{event.type}`")
        if not plan.awaited:
            return _DONE
        return self._pending.start(partial(_acall_all, plan.awaited, source, event), f"the event `{event.type}`")

    async def aemit(self, source: object, event: BaseEvent) -> None:
        """Deliver an event to its handlers and wait for all of them."""
        assign_lineage(event)
        plan = self._plan(type(event))
        for handler in (*plan.inline, *_context_handlers(type(event))):
            if (unfinished := _call(handler, source, event)) is not None:
                await unfinished()
        await _acall_all(plan.awaited, source, event)

    @property
    def has_pending(self) -> bool:
        """Whether `async def` handlers of events emitted so far may still run."""
        return bool(self._pending.loops)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait for the `async def` handlers of all events emitted so far.

        Args:
            timeout: how long to wait at most, in seconds; None sets no bound.

        Returns:
            Whether all are done. False also where some wait on an event loop that does not run.

        Raises:
            RunError: handlers wait on the event loop of this very thread; use `await bus.aflush()` there.
        """
        return self._pending.flush(timeout)

    async def aflush(self) -> None:
        """Wait for the `async def` handlers of all events emitted so far; inside a handler, for the others."""
        await self._pending.aflush()

    def shutdown(self, wait: bool = True) -> None:
        """End the bus's own event loop; the next `async def` handler that needs it starts it again.

        Args:
            wait: whether handlers that still run are waited for; else those on that loop are cancelled.
        """
        if wait:
            self.flush()
        self._pending.stop()

    def after_fork(self) -> None:
        """Start afresh in a forked process: registrations stay, running handlers belong to the parent."""
        self._lock = threading.RLock()
        self._pending.after_fork()

    def _plan(self, event_type: type[BaseEvent]) -> HandlerPlan:
        plan = self._plans.get(event_type)
        if plan is None:
            with self._lock:
                registrations = self._scopes[-1]
                known = loaded(event_type) if registrations else event_type
                plan = self._plans[event_type] = HandlerPlan.of(registrations, known)
        return plan

    def _add(self, new: Registration) -> None:
        """Register a handler; one that is registered keeps its position."""
        with self._lock:
            known = self._scopes[-1]
            if not any(item.event_type is new.event_type and item.handler == new.handler for item in known):
                known.append(new)
                self._plans = {}


def _context_handlers(event_type: type[BaseEvent]) -> list[Handler]:
    """Return the listeners of the running context for a class of events; they are called last."""
    here = LISTENING.get()
    return [*(listener.on_event for listener in here.listeners if listener.wants(event_type)), *here.sinks]


def _call(handler: Handler, source: object, event: BaseEvent) -> Callable[[], Coroutine[object, object, None]] | None:
    """Call a handler; return what is left to await, if it is a function that returns a coroutine."""
    try:
        returned = handler(source, event)
    except Exception as error:  # noqa: BLE001 - any error of a user's handler
        _log_failure(error, handler, event)
        return None
    if returned is None or not inspect.isawaitable(returned):
        return None
    return partial(_acall, handler, source, event, returned)


async def _acall(handler: Handler, source: object, event: BaseEvent, returned: Awaitable[object] | None = None) -> None:
    try:
        await (handler(source, event) if returned is None else returned)
    except Exception as error:  # noqa: BLE001 - any error of a user's handler
        _log_failure(error, handler, event)


def _log_failure(error: Exception, handler: Handler, event: BaseEvent) -> None:
    """Log the error of a handler, and let the run continue; raise what a signal handler raised, which ends the run."""
    if raised_by_signal(error):
        raise error
    _logger.error(_FAILED, handler_name(handler), event.type, exc_info=error)


async def _acall_all(handlers: Sequence[Handler], source: object, event: BaseEvent) -> None:
    match [_acall(handler, source, event) for handler in handlers]:
        case [alone]:
            await alone
        case several:
            await asyncio.gather(*several)


event_bus = EventBus()
"""The event bus of the process."""

crewai_event_bus = event_bus

if sys.platform != "win32":
    os.register_at_fork(after_in_child=event_bus.after_fork)


class BaseEventListener(ABC):
    """Registers its handlers on the process's bus when it is created.

    class Clock(BaseEventListener):
        def setup_listeners(self, crewai_event_bus):
            @crewai_event_bus.on(TaskCompletedEvent)
            def show(source, event):
                print(event.task_name, event.timestamp)

    clock = Clock()
    """

    verbose: bool = False
    """Whether the listener should be verbose; for its own use."""

    def __init__(self) -> None:
        super().__init__()
        self.setup_listeners(event_bus)

    @abstractmethod
    def setup_listeners(self, crewai_event_bus: EventBus) -> None:
        """Register the handlers.

        Args:
            crewai_event_bus: the bus to register them on.
        """
