"""Inputs of every type, with braces, unicode and length; texts with JSON, code and double braces in them."""

from enum import Enum

from crewai import Agent, Crew, Task
from pydantic import BaseModel


class Color(Enum):
    RED = "red"


class Word(str, Enum):
    SEA = "sea"


class Place(BaseModel):
    name: str


def crew(description="Use {x} DESC-1", role="Clerk"):
    agent = Agent(role=role, goal="g", backstory="b")
    return Crew(agents=[agent], tasks=[Task(name="use", description=description, expected_output="e", agent=agent)])


values = {
    "int": 3,
    "float": 2.5,
    "bool": True,
    "none": None,
    "list": [1, "a", {"b": None}],
    "dict": {"a": [1, {"c": "d"}]},
    "str": "text",
    "empty": "",
    "braces": "a {y} b {{z}} %s {0}",
    "unicode": "żółć 日本語 🚢 \u200b",
    "long": "wide " * 40_000,
    "multi": "line one\nline two\n\n- three",
    "object": object,
}
for name, value in values.items():
    c = crew()
    try:
        out = c.kickoff(inputs={"x": value})
        print(name, out.raw, c.tasks[0].description[:80])
    except Exception as e:
        print(name, "raised", isinstance(e, ValueError))

for text in (
    'Return JSON like {"a": 1} for {x} DESC-1',
    "Code: for (i = 0; i < n; i++) { print(i) } {x} DESC-1",
    "Double {{x}} and {x} and { x } and {x!r} and {x:>10} DESC-1",
    "Dots {x.name} {x[0]} {0} {} DESC-1",
    "Set {x-y} {X} {_x} DESC-1",
    "CSS body{color:red} {x} DESC-1",
    "LaTeX \\frac{a}{b} DESC-1",
    "f-string like ${x} and $x and %(x)s DESC-1",
):
    c = crew(text)
    try:
        c.kickoff(inputs={"x": "XX", "a": 1, "b": 2})
        print(repr(c.tasks[0].description))
    except Exception as e:
        print("raised", text[:12], isinstance(e, (ValueError, KeyError)))
    try:
        c = crew(text)
        c.kickoff()
        print(repr(c.tasks[0].description[:60]))
    except Exception as e:
        print("raised", text[:12], type(e).__name__)

for inputs in ("x", 5, {"y": 1}, {"x": "a", "unused": object()}, {1: "x"}, None, {}, [{"x": 1}]):
    c = crew()
    try:
        c.kickoff(inputs=inputs)
        print("fine", str(inputs)[:20], c.tasks[0].description)
    except Exception as e:
        print("bad", str(inputs)[:12], isinstance(e, (ValueError, KeyError, TypeError)))

a = crew(role="Clerk of {x}")
a.kickoff(inputs={"x": "sea"})
print(a.agents[0].role, a.tasks[0].description, a.tasks[0].output.agent)
result = a.kickoff(inputs={"x": "land"})
print(a.agents[0].role, a.tasks[0].description, a.tasks[0].output.agent)

script = {"*": ["OUT-1"]}
