"""Guardrails of many shapes on one crew: tuples, models, outputs, lambdas, methods, lists; callbacks that note."""

from typing import Any, Tuple, Union

from crewai import Agent, Crew, Process, Task, TaskOutput
from pydantic import BaseModel


class Report(BaseModel):
    title: str
    words: int


def long_enough(output: TaskOutput) -> Tuple[bool, Any]:
    print("long_enough", output.raw, output.agent, output.name)
    if len(output.raw) < 8:
        return (False, "TOO-1 short {really}")
    return (True, output.raw.upper())


def has_word(result) -> Tuple[bool, Union[str, dict]]:
    """Checks for a word."""
    try:
        if "WORD-1" in result.raw:
            return True, result
        return False, "LACKS-1 the word"
    except Exception:
        return False, "unexpected"


def structured(output: TaskOutput) -> tuple[bool, Any]:
    print("structured", output.pydantic, output.json_dict)
    if output.pydantic is None:
        return False, "no structure"
    if output.pydantic.words < 5:
        return False, f"only {output.pydantic.words}"
    return True, output.pydantic


class Rules:
    def __init__(self):
        self.seen = []

    def check(self, output):
        self.seen.append(output.raw)
        if len(self.seen) == 1:
            return (False, "ERR-1 of an object")
        return (True, output.raw)


rules = Rules()
log = []
agent = Agent(role="Writer", goal="Write", backstory="Writes.")
tasks = [
    Task(
        name="a",
        description="One DESC-1",
        expected_output="x",
        agent=agent,
        guardrail=long_enough,
        max_retries=2,
        callback=lambda o: log.append(("a", o.raw)),
    ),
    Task(
        name="b",
        description="Two DESC-2",
        expected_output="x",
        agent=agent,
        guardrails=[has_word, long_enough],
        guardrail_max_retries=3,
        callback=lambda o: log.append(("b", o.raw)),
    ),
    Task(
        name="c",
        description="Three DESC-3",
        expected_output="x",
        agent=agent,
        guardrail=structured,
        output_pydantic=Report,
        guardrail_max_retries=1,
    ),
    Task(name="d", description="Four DESC-4", expected_output="x", agent=agent, guardrail=rules.check),
    Task(name="e", description="Five DESC-5", expected_output="x", agent=agent, guardrail=lambda o: (True, o)),
]
crew = Crew(
    agents=[agent], tasks=tasks, process=Process.sequential, task_callback=lambda o: log.append(("crew", o.name))
)
try:
    result = crew.kickoff()
    print([t.raw for t in result.tasks_output])
    print([t.pydantic for t in result.tasks_output])
    print(result.raw)
except Exception as e:
    print("failed", type(e).__name__, str(e)[:20])
print(log, rules.seen)


def no_tuple(output):
    return True


def annotated_wrong(output: TaskOutput) -> str:
    return "x"


def two(a, b):
    return (True, "")


for bad in (no_tuple, annotated_wrong, two, 5):
    try:
        t = Task(description="Bad DESC-6", expected_output="x", agent=agent, guardrail=bad, guardrail_max_retries=0)
        print(Crew(agents=[agent], tasks=[t]).kickoff().raw)
    except Exception as e:
        print(getattr(bad, "__name__", bad), type(e).__name__, isinstance(e, ValueError))

script = {
    "DESC-1": ["short", "long enough WORD-9"],
    "DESC-2": ["nothing here", "WORD-1", "WORD-1 and more"],
    "DESC-3": [{"json": {"title": "T", "words": 3}}, {"json": {"title": "T", "words": 8}}],
    "DESC-4": ["OUT-4", "OUT-5"],
    "DESC-5": ["OUT-6"],
    "DESC-6": ["OUT-7"],
    "*": [
        {"json": {"title": "T", "words": 3}, "else": '{"valid": true, "feedback": null}'},
        {"json": {"title": "T", "words": 8}},
    ],
}
