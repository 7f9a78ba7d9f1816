"""Structured answers: of nested classes, which a model can be held to, and of a dict with any keys, which it cannot."""

from enum import Enum
from typing import Literal

from pydantic import BaseModel, Field

from crewgraph import Agent, Crew, Task


class Level(Enum):
    """How high the water is."""

    LOW = "low"
    HIGH = "high"


class Port(BaseModel):
    """A port."""

    title: str
    default: int | None = None
    level: Level = Field(description="At low tide")


class Chart(BaseModel):
    """A chart of ports."""

    ports: list[Port] = []
    home: Port = Field(description="Where it begins")
    kind: Literal["sea", "river"]
    notes: str | None = None


class Legend(BaseModel):
    """What the signs of a chart mean."""

    signs: dict[str, str]


pilot = Agent(role="Pilot", goal="Draw charts", backstory="Draws.", llm="openai/gpt-4o")
draw = Task(description="Draw it DESC-1", expected_output="A chart", agent=pilot, output_pydantic=Chart)
explain = Task(description="Explain it DESC-2", expected_output="A legend", agent=pilot, output_json=Legend)
crew = Crew(agents=[pilot], tasks=[draw, explain])
crew.kickoff()

script = {
    "DESC-2": ['{"signs": {"+": "a rock"}}'],
    "DESC-1": [
        '{"ports": [], "home": {"title": "Brest", "default": null, "level": "low"}, "kind": "sea", "notes": null}'
    ],
}
