"""Shared parts of the tests of the real crewai_tools."""

import importlib.util
from typing import Any

import pytest
from modes import Mode
from runtime.parts import agent, asked, crew, task

from crewgraph import ScriptedLLM, ToolUse
from crewgraph.tools.adapt import as_tool

__all__ = ["REAL", "lacking", "observed"]

REAL = [
    pytest.mark.skipif(
        importlib.util.find_spec("crewai_tools") is None,
        reason="crewai_tools is not installed: pip install --no-deps crewai-tools (make install does it)",
    ),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:crewai_tools"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:importlib"),
    pytest.mark.filterwarnings("ignore:.*ExaSearchTool:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince20"),
]

"""The marks of a module that needs the package."""


def observed(mode: Mode, tool: Any, args: dict[str, Any]) -> str:
    """Return the result that a model is shown when it calls a tool in a crew."""
    model = ScriptedLLM([ToolUse(as_tool(tool).name, args), "Final Answer: done"])
    made = crew(task("a", agent(model, tools=[tool])))
    assert mode.kickoff(made).raw == "done"
    assert made.tasks[0].tools_errors == 0, asked(model)
    return asked(model)[-1]


def lacking(module: str) -> pytest.MarkDecorator:
    missing = importlib.util.find_spec(module) is None
    return pytest.mark.skipif(missing, reason=f"`{module}` is not installed")
