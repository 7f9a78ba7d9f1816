"""Tasks with fields missing or wrong: two structures, no expected output, a future context, a bad guardrail."""

from crewai import Agent, Task
from pydantic import BaseModel


class Tide(BaseModel):
    height: float


agent = Agent(role="Writer", goal="Write", backstory="Writes.")
good = {"description": "One", "expected_output": "Text", "agent": agent}


def shown(name, make):
    try:
        make()
        print(name, "made")
    except Exception as error:
        print(name, type(error).__name__, isinstance(error, ValueError))


shown("two structures", lambda: Task(**good, output_json=Tide, output_pydantic=Tide))
shown("no expected output", lambda: Task(description="One", agent=agent))
shown("no description", lambda: Task(expected_output="One", agent=agent))
shown("empty description", lambda: Task(description="", expected_output="Text", agent=agent))
shown("no guardrail arguments", lambda: Task(**good, guardrail=lambda: (True, "")))
shown("two guardrail arguments", lambda: Task(**good, guardrail=lambda a, b: (True, "")))
shown("agent by name", lambda: Task(description="One", expected_output="Text", agent="Writer"))
shown("tool that is none", lambda: Task(**good, tools=["hammer"]))
shown("context of texts", lambda: Task(**good, context=["before"]))

script = {}
