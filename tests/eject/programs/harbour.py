"""A crew with all that a crew can have and still be ejected."""

from pydantic import BaseModel

from crewgraph import Agent, ConditionalTask, Crew, Task, TaskOutput
from crewgraph.tools import BaseTool, tool

LONGEST = 20


class Tide(BaseModel):
    """A tide."""

    harbour: str
    height: float


class DepthArguments(BaseModel):
    """What the depth is asked for."""

    place: str


class Depth(BaseTool):
    """Tells depths."""

    name: str = "Depth"
    description: str = "How deep it is somewhere."
    args_schema: type[BaseModel] = DepthArguments
    unit: str = "m"

    def _run(self, place: str) -> str:
        # Below the chart's datum.
        return f"DEPTH-1 3 {self.unit} at {place}"


@tool("Tide table")
def tide_table(harbour: str) -> str:
    """Look up the high tides of a harbour."""
    return f"HIGH-1 in {harbour} at 06:12"


def short_enough(output: TaskOutput) -> tuple[bool, str]:
    """Refuse long titles."""
    if len(output.raw) > LONGEST:
        return False, f"Longer than {LONGEST}"
    return True, output.raw


def is_short(output: TaskOutput) -> bool:
    """Whether there is more to say."""
    return "SHORT" in output.raw


def is_long(output: TaskOutput) -> bool:
    """Whether there is too much."""
    return len(output.raw) > 100


def note(output: TaskOutput) -> None:
    """Keep what came of a task."""
    with open("notes.txt", "a", encoding="utf-8") as notes:
        notes.write(f"{output.agent}: {output.raw}\n")


pilot = Agent(
    role="Pilot of {harbour}",
    goal='Bring ships in, "safely"',
    backstory='Thirty years at sea; writes {"json": true} when asked.',
    tools=[tide_table, Depth()],
    llm="gpt-4o-mini",
)
writer = Agent(role="Writer", goal="Write", backstory="Terse.", llm="gpt-4o", use_system_prompt=False)
look = Task(
    name="look",
    description="When is high tide in {harbour}? DESC-1",
    expected_output="A time",
    agent=pilot,
    async_execution=True,
)
measure = Task(
    name="measure",
    description="The tide DESC-2",
    expected_output="A tide",
    agent=pilot,
    async_execution=True,
    output_pydantic=Tide,
    output_file="out/{harbour}.json",
)
title = Task(
    name="title",
    description="A title DESC-3",
    expected_output="A title",
    agent=writer,
    context=[look, measure],
    guardrail=short_enough,
    callback=note,
)
more = ConditionalTask(
    name="more", description="More DESC-4", expected_output="A text", agent=writer, condition=is_short
)
less = ConditionalTask(
    name="less", description="Less DESC-5", expected_output="A text", agent=writer, condition=is_long
)
end = Task(
    name="end",
    description="The end DESC-6",
    expected_output="A text",
    agent=writer,
    context=[],
    guardrail="It names no prices RULE-1",
    markdown=True,
)
crew = Crew(name="harbour", agents=[pilot, writer], tasks=[look, measure, title, more, less, end], task_callback=note)

if __name__ == "harbour":
    crew.kickoff(inputs={"harbour": "Brest"})

script = {
    "DESC-1": [
        {"tools": [["Tide_table", {"harbour": "Brest"}], ["Depth", {"place": "quay"}]]},
        {"tool": ["Tide_table", {"harbour": "Brest"}]},
        "At 06:12 TIME-1",
    ],
    "DESC-2": ['{"harbour": "Brest", "height": 6.5}'],
    "DESC-3": ["LONG-1 and a title that goes on and on", "SHORT-1"],
    "DESC-4": ["MORE-1"],
    "DESC-5": ["LESS-1"],
    "RULE-1": [{"json": {"valid": False, "feedback": "a price"}}, {"json": {"valid": True, "feedback": None}}],
    "DESC-6": ["END-1 for 5", "END-2"],
}
