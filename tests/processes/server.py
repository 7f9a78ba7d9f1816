"""The fork server: it has imported the packages of programs, and each program is a child of it.

It listens on a socket it inherits. A connection is a program: it brings the program's streams, arguments, folder and environment,
and gets the process id (16 bytes) and, in the end, the wait status. Closing it earlier kills the program.
"""

import atexit
import contextlib
import gc
import importlib
import io
import json
import linecache
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import sys
import threading
import time
import types
import warnings
from typing import Any

from rehearsal import rehearse_request

import crewgraph

_PLAIN = list(warnings.filters)  # what packages add later stands before and behind these

_PRELOADED = (
    "langchain_core.tracers.context", "langchain_core.tracers.run_collector", "langchain_core.tracers.stdout",
    "langchain_openai", "langgraph.checkpoint.memory", "langgraph.checkpoint.postgres",
    "langgraph.checkpoint.sqlite.aio", "mcp.server.fastmcp", "openai.resources.responses",
)  # fmt: skip


def _wake(number: int, frame: types.FrameType | None) -> None:
    """A signal handler; without one, signals would not be written to the wakeup pipe."""


class Programs:
    """The running programs, by connection and process id."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._selector = selectors.DefaultSelector()
        self._selector.register(listening, selectors.EVENT_READ)
        self._selector.register(0, selectors.EVENT_READ)  # the end of the parent
        self._woken, wakes = os.pipe()
        for end in (self._woken, wakes):
            os.set_blocking(end, False)
        self._wakes = wakes
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _wake)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the test process
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._running: dict[int, socket.socket] = {}

    def next(self) -> list[Any] | None:
        """Return in each child, with its job, and None at the end."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._listening:
                    job = self._begin(self._listening.accept()[0])
                    if job is not None:
                        return job
                elif key.fileobj == self._woken:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self._woken, 4096)
                    self._reap()
                elif key.fileobj == 0:
                    for pid in self._running:
                        os.kill(pid, signal.SIGKILL)
                    return None
                elif key.data in self._running:  # its connection was closed
                    os.kill(key.data, signal.SIGKILL)
                    self._selector.unregister(key.fileobj)

    def _begin(self, life: socket.socket) -> list[Any] | None:
        size, streams, *_ = socket.recv_fds(life, 4, 3)
        job: list[Any] = json.loads(life.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
        pid = os.fork()
        if pid == 0:
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            self._leave()
            life.close()
            for stream in streams:
                os.close(stream)
            return job
        for stream in streams:
            os.close(stream)
        self._running[pid] = life
        self._selector.register(life, selectors.EVENT_READ, pid)
        life.sendall(b"%16d" % pid)
        return None

    def _reap(self) -> None:
        while self._running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            life = self._running.pop(pid)
            with contextlib.suppress(KeyError):
                self._selector.unregister(life)
            with contextlib.suppress(OSError), life:  # the other end may be closed
                life.sendall(b"%16d" % status)

    def _leave(self) -> None:
        """Discard the server's state in a child."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self._selector.close()
        self._listening.close()
        os.close(self._woken)
        os.close(self._wakes)
        for life in self._running.values():
            life.close()


def become(arguments: list[str], folder: str, environment: dict[str, str], new_session: bool) -> tuple[str, list[str]]:
    """Set up the process as if started with this command: the program and its arguments."""
    if new_session:
        os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    warned = list(filter(None, environment.get("PYTHONWARNINGS", "").split(",")))
    unbuffered = bool(environment.get("PYTHONUNBUFFERED"))
    while arguments[0].startswith("-") and arguments[0] not in ("-c", "-m"):
        if arguments[0] == "-W":
            warned.append(arguments.pop(1))
        unbuffered |= arguments[0] == "-u"
        arguments = arguments[1:]
    sys.path[:0] = [os.path.abspath(entry) for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    kind, words = (arguments[0], arguments[1:]) if arguments[0] in ("-c", "-m") else ("", arguments)
    sys.path.insert(0, {"-c": "", "-m": os.getcwd()}.get(kind, os.path.dirname(os.path.realpath(words[0]))))
    importlib.invalidate_caches()
    _warn(warned)
    _open_streams(environment, unbuffered)
    return kind, words


def _warn(options: list[str]) -> None:
    """Apply `-W` options where Python does: before its own filters, after those that packages put in front."""
    first = warnings.filters.index(_PLAIN[0])
    before, behind = warnings.filters[:first], warnings.filters[first + len(_PLAIN) :]
    warnings.filters[:] = _PLAIN  # type: ignore[index]
    sys.warnoptions[:] = options
    warnings._processoptions(options)  # type: ignore[attr-defined]
    warnings.filters[:] = [*before, *warnings.filters, *behind]  # type: ignore[index]
    with warnings.catch_warnings():
        pass  # changed filters are evaluated again


def _open_streams(environment: dict[str, str], unbuffered: bool) -> None:
    encoding, _, errors = environment.get("PYTHONIOENCODING", "").partition(":")
    sys.stdin = sys.__stdin__ = _stream(0, "r", encoding, errors)
    sys.stdout = sys.__stdout__ = _stream(1, "w", encoding, errors)
    sys.stdout.reconfigure(line_buffering=sys.stdout.isatty(), write_through=unbuffered)
    sys.stderr = sys.__stderr__ = _stream(2, "w", encoding, "backslashreplace")
    sys.stderr.reconfigure(line_buffering=True, write_through=unbuffered)


def _stream(number: int, kind: str, encoding: str, errors: str) -> io.TextIOWrapper:
    raw = io.FileIO(number, kind, closefd=False)
    buffered = io.BufferedReader(raw) if kind == "r" else io.BufferedWriter(raw)
    return io.TextIOWrapper(buffered, encoding or "utf-8", errors or "strict", newline=None if kind == "r" else "\n")


def play(kind: str, words: list[str]) -> None:
    """Run it as `__main__`, like the interpreter, and exit."""
    program = types.ModuleType("__main__")
    program.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = program
    sys.argv[:] = [kind, *words[1:]] if kind else words
    code = 0
    try:
        if kind == "-m":
            runpy._run_module_as_main(words[0])  # type: ignore[attr-defined]
        elif kind == "-c":
            if sys.version_info >= (3, 13):  # since then, tracebacks show lines of such a program
                linecache.cache["<string>"] = len(words[0]), None, words[0].splitlines(keepends=True), "<string>"
            exec(compile(words[0], "<string>", "exec"), program.__dict__)
        else:
            program.__file__ = os.path.abspath(words[0])
            with open(program.__file__, "rb") as file:
                text = file.read()
            exec(compile(text, program.__file__, "exec"), program.__dict__)
    except BaseException as error:  # noqa: BLE001 - told as the interpreter tells it
        code = _exit_code(error)
    _end(program, code)


def _exit_code(error: BaseException) -> int:
    """Return the exit status for the exception that ended a program, after printing it."""
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        print(error.code, file=sys.stderr)
        return 1
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    sys.excepthook(type(error), error.with_traceback(trace), trace)
    return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1


def _end(program: types.ModuleType, code: int) -> None:
    """Finalize like the interpreter at exit, except for modules of the server."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()  # type: ignore[attr-defined]
    for name in [*filter(lambda name: name.startswith("_"), program.__dict__), *program.__dict__]:
        if name != "__builtins__":
            program.__dict__[name] = None
    gc.collect()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 120
    if code == -signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(code & 0xFF)


def preload() -> None:
    """Import the packages of programs, and those that a first request imports."""
    ours = (module.name for module in pkgutil.walk_packages(crewgraph.__path__, "crewgraph."))
    for name in (*ours, *_PRELOADED):
        if not name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # of an optional package
                importlib.import_module(name)
    rehearse_request()
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    sys.path.pop(0)
    with socket.socket(fileno=int(sys.argv[1])) as listening:
        preload()
        job = Programs(listening).next()
    if job is not None:
        play(*become(*job))
