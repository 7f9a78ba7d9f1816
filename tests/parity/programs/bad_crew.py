"""Crews that are refused: nothing in them, a future context, async tasks at the end, an async first conditional."""

from crewai import Agent, Crew, Process, Task
from crewai.tasks.conditional_task import ConditionalTask

agent = Agent(role="Writer", goal="Write", backstory="Writes.")


def task(number, **more):
    return Task(description=f"Step {number}", expected_output="Text", agent=agent, **more)


def shown(name, make):
    try:
        make()
        print(name, "made")
    except Exception as error:
        codes = [one["type"] for one in error.errors()] if hasattr(error, "errors") else None
        print(name, type(error).__name__, codes)


later = task(2)
shown("future context", lambda: Crew(agents=[agent], tasks=[task(1, context=[later]), later]))
shown(
    "two async at the end",
    lambda: Crew(agents=[agent], tasks=[task(1), task(2, async_execution=True), task(3, async_execution=True)]),
)
shown(
    "async conditional",
    lambda: Crew(
        agents=[agent],
        tasks=[
            task(1),
            ConditionalTask(
                description="x", expected_output="y", agent=agent, condition=lambda output: True, async_execution=True
            ),
        ],
    ),
)
before = task(1, async_execution=True)
shown(
    "async that waits for async",
    lambda: Crew(agents=[agent], tasks=[before, task(2, async_execution=True, context=[before]), task(3)]),
)
shown("hierarchical without a manager", lambda: Crew(agents=[agent], tasks=[task(1)], process=Process.hierarchical))
shown("no agents", lambda: Crew(agents=[], tasks=[task(1)]))
shown("no tasks", lambda: Crew(agents=[agent], tasks=[]))
shown("nothing", lambda: Crew())
shown("unknown process", lambda: Crew(agents=[agent], tasks=[task(1)], process="sideways"))
shown("a text for tasks", lambda: Crew(agents=[agent], tasks="all"))

script = {}
