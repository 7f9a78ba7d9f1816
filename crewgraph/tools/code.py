"""The tool with which an agent runs code."""

from collections.abc import Callable
from typing import cast

from pydantic import BaseModel, Field

from crewgraph import settings
from crewgraph.prompts.book import english
from crewgraph.tools.base import BaseTool
from crewgraph.tools.container import check_docker, run_in_container

__all__ = ["CodeInterpreterTool", "is_code_interpreter"]


def _never(_arguments: object = None, _result: object = None) -> bool:
    return False  # it may draw lots, or look at the clock


class _Code(BaseModel):
    code: str = Field(description="A complete Python program; what it prints is the result")


class CodeInterpreterTool(BaseTool):
    """Runs Python in a Docker container that is thrown away: without network, without files of this machine.

    The container may use 512 MB of memory, one processor, 128 processes and 64 MB in /tmp. What can be imported is what its
    image holds: nothing is installed.
    """

    name: str = Field(default_factory=lambda: _texts()["name"])
    description: str = Field(default_factory=lambda: _texts()["description"])
    args_schema: type[BaseModel] = _Code
    cache_function: Callable[..., bool] = _never

    image: str = Field(default_factory=settings.code_image)
    """What the container is made of (`CREWGRAPH_CODE_IMAGE`); it must be there, it is not fetched."""

    seconds: float = Field(default=60, gt=0)
    """How long a program may run."""

    def check(self) -> None:
        """Look whether there is a place to run code in.

        Raises:
            ToolFailed: Docker is not installed, does not run, or has not the image.
        """
        check_docker(self.image)

    def _run(self, code: str) -> str:
        """What the program prints.

        Raises:
            ToolFailed: it could not be run, took too long, or ended with an error.
        """
        return run_in_container(code, image=self.image, seconds=self.seconds) or _texts()["nothing"]


def is_code_interpreter(tool: object) -> bool:
    """Whether a tool runs code: ours, or one that somebody wrote under the same name."""
    return any(c.__name__ == "CodeInterpreterTool" for c in type(tool).__mro__)


def _texts() -> dict[str, str]:
    return cast("dict[str, str]", english().text("tools", "code_interpreter"))
