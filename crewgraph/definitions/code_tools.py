"""The tools of agents that run code."""

from typing import TYPE_CHECKING

from crewgraph.errors import CompileError
from crewgraph.lazy import lazy
from crewgraph.tools.base import BaseTool

if TYPE_CHECKING:
    from crewgraph.tools.code import CodeInterpreterTool
else:
    CodeInterpreterTool = lazy("crewgraph.tools.code:CodeInterpreterTool")

__all__ = ["code_tools"]


def code_tools(mode: str, where: str) -> list[BaseTool]:
    """What runs code in a mode.

    Raises:
        CompileError: the mode is "unsafe".
    """
    if mode == "unsafe":
        raise CompileError(
            f'`code_execution_mode="unsafe"` of {where} would run what a model wrote on this machine, with all that you may do '
            'here; it is refused. Leave it "safe", which takes Docker, or give a `CodeInterpreterTool` of your own in `tools`.'
        )
    return [CodeInterpreterTool()]
