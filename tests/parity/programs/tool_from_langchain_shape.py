"""A tool made from a function with Tool's constructor classes, and one given by CrewStructuredTool's from_function."""

from crewai.tools.structured_tool import CrewStructuredTool
from pydantic import BaseModel


class Place(BaseModel):
    place: str


def measure(place: str) -> str:
    """How deep the water is."""
    return "DEPTH-1"


depth = CrewStructuredTool.from_function(measure, name="depth", args_schema=Place)
print(depth.name, depth.invoke({"place": "quay"}))

script = {}
