"""Python programs as separate processes, forked from one that has already imported their packages.

`run` and `Popen` take what `subprocess.run` and `subprocess.Popen` take, for commands that begin with `sys.executable`.
Options, arguments, environment, folder, streams, signals and exit codes are those of a process started anew; it costs what the
program does, not what its imports cost (more than a second each). Options that a running interpreter cannot take over (`-X`,
`-P`) start a true process. Tests about a true start (import costs, `sys.modules`, hash seeds) use `subprocess`.
"""

import atexit
import inspect
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from .launcher import begin

__all__ = ["KNOWN_WARNING", "STRICT", "Popen", "command", "run"]

KNOWN_WARNING = "ignore:'asyncio.iscoroutinefunction' is deprecated:DeprecationWarning"
"""A filter for what langsmith causes on Python 3.14."""

STRICT = ("-W", "error", "-W", KNOWN_WARNING)
"""Options that make all other warnings errors."""

_HERE = Path(__file__).parent


class _Server:
    """The fork server, one for each test process; started with its first program, it ends with the test process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._address = ""

    def address(self) -> str:
        """The path of its socket."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                folder = tempfile.mkdtemp(prefix="warm")
                self._address = f"{folder}/s"
                with socket.socket(socket.AF_UNIX) as listening:
                    listening.bind(self._address)
                    listening.listen(128)
                    self._process = subprocess.Popen(
                        [sys.executable, str(_HERE / "server.py"), str(listening.fileno())],
                        stdin=subprocess.PIPE,
                        pass_fds=[listening.fileno()],
                        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
                    )
                atexit.register(_end, self._process, folder)
            return self._address


def _end(process: "subprocess.Popen[bytes]", folder: str) -> None:
    if process.stdin is not None:
        process.stdin.close()  # it watches this pipe
    process.wait(60)
    shutil.rmtree(folder, ignore_errors=True)


_server = _Server()


def command(*arguments: str) -> list[str]:
    """Return a command that runs Python with these arguments like `Popen`, for code that starts processes itself."""
    if not hasattr(os, "fork"):
        return [sys.executable, *arguments]
    return [sys.executable, "-ISu", str(_HERE / "launcher.py"), _server.address(), *arguments]


_READ_AT_START = {"PYTHONHASHSEED", "PYTHONSAFEPATH", "LANGGRAPH_STRICT_MSGPACK"}
"""Environment variables that Python or the imported packages read only once."""


def _can_be_forked(words: list[str], environment: Mapping[str, str]) -> bool:
    """Whether the command is Python, with options that a running interpreter can apply."""
    if not hasattr(os, "fork") or words[0] != sys.executable or _READ_AT_START & environment.keys():
        return False
    rest = words[1:]
    while rest and rest[0].startswith("-") and rest[0] not in ("-c", "-m"):
        if rest[0] not in ("-W", "-u"):
            return False
        rest = rest[2 if rest[0] == "-W" else 1 :]
    return bool(rest) and rest[:2] != ["-m", "pytest"]  # which wants to import what it rewrites


def run(
    args: Sequence[str | os.PathLike[str]],
    *,
    input: Any = None,
    capture_output: bool = False,
    timeout: float | None = None,
    check: bool = False,
    **options: Any,
) -> "subprocess.CompletedProcess[Any]":
    """`subprocess.run`, for Python."""
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        options["stdin"] = subprocess.PIPE
    with Popen(args, **options) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess[Any](args, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


class Popen(subprocess.Popen[Any]):
    """A process that runs Python; the command's first word is `sys.executable`."""

    _life: socket.socket | None = None
    _status: int | None = None

    def _execute_child(self, *given: Any) -> None:
        start = cast(Callable[..., None], super()._execute_child)  # type: ignore[misc]
        options: dict[str, Any] = dict(zip(inspect.signature(start).parameters, given, strict=True))
        environment = dict(os.environ if options["env"] is None else options["env"])
        words: list[str] = [os.fspath(word) for word in options["args"]]
        if options["preexec_fn"] or options["pass_fds"] or not _can_be_forked(words, environment):
            start(*given)
            return
        ends = ("p2cread", 0), ("c2pwrite", 1), ("errwrite", 2)
        streams = [fd if options[name] == -1 else options[name] for name, fd in ends]
        try:
            self._life, self.pid = begin(
                _server.address(),
                words[1:],
                os.fspath(options["cwd"] or os.getcwd()),
                environment,
                streams,
                options["start_new_session"],
            )
        finally:
            pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
            self._close_pipe_fds(*(options[name] for name in pipes))  # type: ignore[attr-defined]
        self._child_created = True

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if self._life is None:
            return super()._try_wait(wait_flags)  # type: ignore[misc]
        if wait_flags and not select.select([self._life], [], [], 0)[0]:
            return 0, 0
        status = int(self._life.recv(16) or b"9")  # nothing: the server is gone, and its children with it
        self._life.close()
        self._life = None
        return self.pid, status

    def _internal_poll(self, *options: Any, **more: Any) -> int | None:
        if self._life is None:
            return super()._internal_poll(*options, **more)  # type: ignore[misc]
        if self.returncode is None and self._waitpid_lock.acquire(False):  # type: ignore[attr-defined]
            try:
                pid, status = self._try_wait(os.WNOHANG)
                if pid:
                    self.returncode = os.waitstatus_to_exitcode(status)
            finally:
                self._waitpid_lock.release()  # type: ignore[attr-defined]
        return self.returncode
