"""Tools told in one text, as CrewAI's descriptions tell them."""

import json
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from crewgraph.schema import json_schema
from crewgraph.tools.structured import CrewStructuredTool
from crewgraph_compat.stand_ins.names import sanitize_tool_name
from crewgraph_compat.stand_ins.native_calls import parse_tools

__all__ = ["build_schema_hint", "format_description_for_llm", "strip_composite_description_prefix", "to_langchain"]

_MARK = "Tool Description: "


def build_schema_hint(args_schema: type[BaseModel]) -> str:
    """What a tool takes, for an error message."""
    schema = json_schema(args_schema)
    properties, required = json.dumps(schema.get("properties", {})), json.dumps(schema.get("required", []))
    return f"\nExpected arguments: {properties}\nRequired: {required}"


def format_description_for_llm(name: str, args_schema: type[BaseModel] | None, description: str) -> str:
    """A tool's name, what it takes and what it is for."""
    takes = json.dumps(json_schema(args_schema), indent=2) if args_schema is not None else "{}"
    return f"Tool Name: {sanitize_tool_name(name)}\nTool Arguments: {takes}\n{_MARK}{description}"


def strip_composite_description_prefix(description: str) -> str:
    """What such a text says that the tool is for; another text as it is."""
    return description.rpartition(_MARK)[2] if description.startswith("Tool Name:") else description


def to_langchain(tools: Sequence[Any]) -> list[CrewStructuredTool]:
    """Tools as `CrewStructuredTool`s, as CrewAI's function of this name gives them.

    Raises:
        ValueError: one is no tool.
    """
    return parse_tools(tools)
