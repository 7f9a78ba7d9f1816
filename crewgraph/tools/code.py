"""A tool that runs Python code in a disposable Docker container without network, host files, or unbounded resources."""

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable
from threading import Thread
from typing import IO, cast

from pydantic import BaseModel, Field

from crewgraph import settings
from crewgraph.core.cancellation import when_given_up
from crewgraph.errors import ToolFailed
from crewgraph.prompts.i18n import default_book
from crewgraph.tools.base import BaseTool, keep_never

_MEMORY = "512m"
_PROCESSES = 128
_MAX_OUTPUT = 20_000
"""Maximum number of bytes of output; the rest is discarded."""

_DOCKER_TIMEOUT = 15


def container_command(image: str, name: str) -> list[str]:
    """Return the command that runs Python in a container, with the program on stdin.

    Args:
        image: The image, which is never pulled.
        name: The name of the container.
    """
    return [
        *("docker", "run", "--rm", "--interactive", "--name", name, "--pull", "never"),
        *("--network", "none", "--read-only", "--tmpfs", "/tmp:rw,noexec,nosuid,nodev,size=64m", "--workdir", "/tmp"),
        *("--user", "65534:65534", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--ipc", "none"),
        *("--memory", _MEMORY, "--memory-swap", _MEMORY, "--cpus", "1", "--pids-limit", str(_PROCESSES)),
        *("--env", "HOME=/tmp", "--env", "PYTHONDONTWRITEBYTECODE=1", "--entrypoint", "python"),
        *(image, "-I", "-u", "-"),
    ]


def check_docker(image: str) -> None:
    """Check that Docker can run code in an image.

    Raises:
        ToolFailed: Docker is not installed, is not running, or lacks the image; the message says what to do.
    """
    rule = "agents run code only in Docker"
    if shutil.which("docker") is None:
        raise ToolFailed(f"{rule}, and there is no `docker` here. Install it (https://docs.docker.com/get-docker).")
    ok, message = _docker("version", "--format", "{{.Server.Version}}")
    if not ok:
        raise ToolFailed(f"{rule}, and Docker does not answer: {message}. Start it.")
    ok, message = _docker("image", "inspect", "--format", "{{.Id}}", image)
    if not ok:
        raise ToolFailed(
            f"{rule}, and it lacks the image `{image}`: {message}. Pull it with `docker pull {image}`, or set "
            "CREWGRAPH_CODE_IMAGE to another image with Python."
        )


def _docker(*args: str) -> tuple[bool, str]:
    try:
        result = subprocess.run(
            ["docker", *args], capture_output=True, text=True, errors="replace", timeout=_DOCKER_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        return False, f"`docker {args[0]}` did not answer within {_DOCKER_TIMEOUT} seconds"
    except OSError as error:
        return False, f"`docker` cannot be run ({error.strerror})"
    message = " ".join(result.stderr.split()) or f"`docker {args[0]}` ended with exit code {result.returncode}"
    return result.returncode == 0, message


def run_in_container(code: str, *, image: str, seconds: float) -> str:
    """Run Python code and return its output.

    Args:
        code: The program.
        image: The Docker image.
        seconds: The time limit.

    Raises:
        ToolFailed: The code could not be run, timed out, or failed; the message includes the output.
    """
    name = f"crewgraph-{uuid.uuid4().hex}"
    with tempfile.TemporaryFile() as program:
        program.write(code.encode("utf-8", "surrogatepass"))
        program.seek(0)
        try:
            process = subprocess.Popen(
                container_command(image, name), stdin=program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        except OSError as error:
            raise ToolFailed(f"the code was not run: `docker` cannot be run ({error.strerror}).") from error
    output, has_ended = _Output(process), False
    try:
        with when_given_up(Thread(target=_remove_container, args=(name,), daemon=True).start):
            process.wait(seconds)
        has_ended = True
    except subprocess.TimeoutExpired:
        raise ToolFailed(f"the code was stopped after {seconds:g} seconds. {output.in_words()}") from None
    finally:
        if not has_ended:
            _remove_container(name)
            process.kill()
            process.wait()
        output.close()
    if process.returncode != 0:
        raise ToolFailed(f"{_failure_message(process.returncode)} {output.in_words()}")
    return output.text


def _failure_message(code: int) -> str:
    if code in (125, 126, 127):
        return "the code was not run, Docker could not start its container."
    if code == 137:
        return f"the code was killed; it may use {_MEMORY} of memory."
    return f"the code ended with exit code {code}."


def _remove_container(name: str) -> None:
    """Remove a container, which outlives its client process."""
    try:
        subprocess.run(["docker", "rm", "--force", name], capture_output=True, timeout=_DOCKER_TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired):  # the limits of the container still apply
        return


class _Output:
    """Reads all output of a process, so that it never blocks, but stores only the beginning."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout is not None
        self._output, self._dropped = bytearray(), 0
        self._stream: IO[bytes] = process.stdout
        self._reader = Thread(target=self._read, name="crewgraph-code", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while chunk := os.read(self._stream.fileno(), 65536):
            room = _MAX_OUTPUT - len(self._output)
            self._output += chunk[:room]
            self._dropped += max(len(chunk) - room, 0)

    def close(self) -> None:
        """Read the remaining output and close the pipe."""
        self._reader.join(_DOCKER_TIMEOUT)
        self._stream.close()

    @property
    def text(self) -> str:
        """The output, with a note if it is truncated."""
        text = bytes(self._output).decode("utf-8", "replace")
        return f"{text}\n({self._dropped} further bytes are not shown)" if self._dropped else text

    def in_words(self) -> str:
        """Return the output as part of an error message."""
        self._reader.join(1)
        text = self.text.strip()
        return f"It printed:\n{text}" if text else "It printed nothing."


class _Code(BaseModel):
    code: str = Field(description="A complete Python program; its printed output is the result")


class CodeInterpreterTool(BaseTool):
    """Runs Python in a disposable Docker container without network and without files of the host.

    The container may use 512 MB of memory, one CPU, 128 processes and 64 MB in /tmp. Only packages in the image can be
    imported.
    """

    name: str = Field(default_factory=lambda: _code_texts()["name"])
    description: str = Field(default_factory=lambda: _code_texts()["description"])
    args_schema: type[BaseModel] = _Code
    cache_function: Callable[..., bool] = keep_never

    image: str = Field(default_factory=settings.code_image)
    """The Docker image (`CREWGRAPH_CODE_IMAGE`), which must exist locally; it is never pulled."""

    seconds: float = Field(default=60, gt=0)
    """Time limit of a program in seconds."""

    def check(self) -> None:
        """Check that Docker can run code.

        Raises:
            ToolFailed: Docker is not installed, is not running, or lacks the image.
        """
        check_docker(self.image)

    def _run(self, code: str) -> str:
        """Run the program and return its output.

        Raises:
            ToolFailed: The program could not be run, timed out, or failed.
        """
        return run_in_container(code, image=self.image, seconds=self.seconds) or _code_texts()["nothing"]


def is_code_interpreter(tool: object) -> bool:
    """Return whether a tool is a code interpreter: this one, or another class of the same name."""
    return any(base.__name__ == "CodeInterpreterTool" for base in type(tool).__mro__)


def _code_texts() -> dict[str, str]:
    return cast("dict[str, str]", default_book().text("tools", "code_interpreter"))
