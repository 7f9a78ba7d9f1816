"""A crew with a manager, tools that are counted, asynchronous, or say what is kept, and functions around it."""

from typing import Any

from crewgraph import Agent, Crew, CrewOutput, Process, Task
from crewgraph.tools import tool


@tool("berths", max_usage_count=1)
async def berths(quay: str) -> str:
    """Count the free berths of a quay."""
    return f"BERTHS-1 at {quay}"


@tool("wind")
def wind(place: str) -> str:
    """Ask how the wind blows."""
    return "" if place == "nowhere" else f"WIND-1 at {place}"


def is_known(_arguments: dict[str, Any], result: str) -> bool:
    """Whether a result is worth keeping."""
    return bool(result)


wind.cache_function = is_known


def with_season(inputs: dict[str, Any]) -> dict[str, Any]:
    """Add what everybody knows."""
    return {**inputs, "season": f"winter in {inputs['harbour']}"}


def told(output: CrewOutput) -> None:
    """Keep what came of the tasks."""
    with open("told.txt", "w", encoding="utf-8") as file:
        file.write(f"{len(output.tasks_output)}: {output}")


warden = Agent(
    role="Warden of {harbour}", goal="Know the yard", backstory="There for years.", tools=[berths, wind], max_iter=4
)
clerk = Agent(role="Clerk", goal="Write", backstory="Terse.", inject_date=True, max_rpm=6000)
plan = Task(name="plan", description="Plan the day PLAN-1 in {season}", expected_output="A plan")
check = Task(name="check", description="Check it CHECK-1", expected_output="A word", human_input=True)
crew = Crew(
    name="yard",
    agents=[warden, clerk],
    tasks=[plan, check],
    process=Process.hierarchical,
    manager_llm="gpt-4o",
    before_kickoff_callbacks=[with_season],
    after_kickoff_callbacks=[told],
)

if __name__ == "yard":
    crew.kickoff(inputs={"harbour": "Brest"})

typed = "Again AGAIN-1\n\n"
script = {
    "AGAIN-1": ["CHECKED-2"],
    "CHECK-1": [
        {"tool": ["ask_question_to_coworker", {"question": "NOTE-1?", "coworker": "Nobody"}]},
        {"tool": ["ask_question_to_coworker", {"question": "NOTE-1?", "coworker": "clerk"}]},
        "CHECKED-1",
    ],
    "PLAN-1": [
        {
            "tool": [
                "delegate_work_to_coworker",
                {"task": "COUNT-1", "context": "all of it", "coworker": '"warden of Brest"'},
            ]
        },
        "PLANNED-1",
    ],
    "COUNT-1": [
        {"tools": [["berths", {"quay": "north"}], ["wind", {"place": "nowhere"}]]},
        {"tools": [["berths", {"quay": "south"}], ["wind", {"place": "quay"}]]},
        "COUNTED-1",
    ],
    "NOTE-1": ["NOTED-1"],
}
