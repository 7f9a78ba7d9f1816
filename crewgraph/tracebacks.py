"""Tracebacks of failed runs, without the frames between the user's code: a run has about a hundred, useless to users.

CREWGRAPH_TRACEBACK=full keeps all frames.
"""

import asyncio
import dis
import os
import signal
import sys
import sysconfig
from collections.abc import Callable, Iterator, Set
from functools import partial, wraps
from inspect import CO_VARKEYWORDS, iscoroutinefunction
from pathlib import Path
from traceback import walk_tb
from types import CodeType, TracebackType
from typing import Any, TypeVar, cast

_T = TypeVar("_T")

_PACKAGE = str(Path(__file__).parent) + os.sep
_LIBRARIES = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")})
_GRAPH_NOTE = "During task with name "


def traced_to_the_caller(function: _T) -> _T:
    """Decorate a method so that tracebacks of its errors start at the caller's line and continue in the user's code."""
    method = cast("Callable[..., Any]", function)
    keywords = None if _code(method).co_flags & CO_VARKEYWORDS else {*_parameters(method)}

    if iscoroutinefunction(method):

        @wraps(method)
        async def awaited(*args: object, **options: object) -> object:
            with shortened():
                if keywords is not None and not options.keys() <= keywords:
                    raise _unknown_keyword(method, options.keys() - keywords)
                return await method(*args, **options)

        return cast("_T", awaited)

    @wraps(method)
    def called(*args: object, **options: object) -> object:
        try:
            if keywords is not None and not options.keys() <= keywords:
                raise _unknown_keyword(method, options.keys() - keywords)
            return method(*args, **options)
        except BaseException as error:
            shorten_tracebacks(error)
            raise

    return cast("_T", called)


def _code(method: Callable[..., Any]) -> CodeType:
    return vars(method).get("program", method).__code__


def _parameters(method: Callable[..., Any]) -> tuple[str, ...]:
    code = _code(method)
    return code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]


def _unknown_keyword(method: Callable[..., Any], unknown: Set[str]) -> TypeError:
    """Return the error for keywords that a method does not have, with what to write where they were meant as inputs."""
    names, known = ", ".join(f"`{name}`" for name in sorted(unknown)), _parameters(method)
    advice = f"takes {', '.join(f'`{name}`' for name in known)}"
    if "inputs" in known:
        values = ", ".join(f"{name!r}: ..." for name in sorted(unknown))
        advice = f"takes values for placeholders as one dict: `inputs={{{values}}}`"
    return TypeError(f"`{method.__qualname__}` has no parameter {names}. It {advice}.")


def is_awaited() -> bool:
    """Whether the caller of the method that calls this, which is traced to the caller, awaits what it returns."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    caller = sys._getframe(3)  # pyright: ignore[reportPrivateUsage]
    following = caller.f_code.co_code[caller.f_lasti + 2 :: 2]
    return next(filter(None, following), None) == dis.opmap["GET_AWAITABLE"]  # after caches, which are 0


class shortened:
    """Enclose code that calls the user's code: tracebacks of its errors show no frames between the caller's and the user's."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is not None:
            shorten_tracebacks(error)


def shorten_tracebacks(error: BaseException) -> None:
    """Leave only frames of the user's code and of signal handlers in the tracebacks of an error and of those that led to it."""
    if os.environ.get("CREWGRAPH_TRACEBACK") == "full":
        return
    handlers = _signal_handlers()
    for one in led_to(error):
        one.__traceback__ = keep_frames(one.__traceback__, lambda it: _is_users(it) or it.tb_frame.f_code in handlers)
        drop_graph_notes(one)


def show_users_frames(error: BaseException) -> None:
    """Leave only frames of the user's code in the tracebacks of an error that is printed or logged, if there are any."""
    whole = error.__traceback__
    shorten_tracebacks(error)
    if error.__traceback__ is None:
        error.__traceback__ = whole


def drop_graph_notes(error: BaseException) -> None:
    """Drop LangGraph's notes on its nodes; crewgraph's own notes name the task and the agent."""
    notes: list[str] = getattr(error, "__notes__", [])
    notes[:] = [note for note in notes if not note.startswith(_GRAPH_NOTE)]


def note_once(error: BaseException, note: str) -> None:
    """Add a note to an error that does not have it yet: the same error may end several runs."""
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)


def raised_by_signal(error: BaseException) -> BaseException | None:
    """Return what a signal handler of the program raised, if that is the error or its cause, else None.

    Time limits, such as those of Celery and RQ, raise in the middle of whatever runs, so that is not the failure of a request or
    a tool. A handler that has been replaced since, as that of a time limit inside a tool, does not count.
    """
    handlers, seen = _signal_handlers(), set[int]()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        if any(frame.f_code in handlers for frame, _ in walk_tb(cause.__traceback__)):
            return cause
        seen.add(id(cause))
        cause = cause.__cause__
    return None


def _signal_handlers() -> set[object]:
    """Return the code of the functions that handle signals at present."""
    handlers: set[object] = set()
    for number in signal.valid_signals():
        handler: object = signal.getsignal(number)
        while isinstance(handler, partial):
            handler = cast("partial[object]", handler).func
        function = handler if hasattr(handler, "__code__") else getattr(type(handler), "__call__", None)  # noqa: B004
        handlers.add(getattr(function, "__code__", None))
    return handlers


def led_to(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, and those that led to it."""
    seen, waiting = set[int](), [error]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [other for other in (one.__cause__, one.__context__) if other is not None]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions


def keep_frames(traceback: TracebackType | None, is_kept: Callable[[TracebackType], bool]) -> TracebackType | None:
    """Return a traceback with only some of its frames."""
    kept: list[TracebackType] = []
    while traceback is not None:
        if is_kept(traceback):
            kept.append(traceback)
        traceback = traceback.tb_next
    shortened: TracebackType | None = None
    for one in reversed(kept):
        shortened = TracebackType(shortened, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return shortened


def _is_users(traceback: TracebackType) -> bool:
    return not traceback.tb_frame.f_code.co_filename.startswith((_PACKAGE, *_LIBRARIES, "<frozen "))
