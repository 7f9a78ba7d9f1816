"""An async task whose callback raises."""

from crewai import Agent, Crew, Task


def broken(output):
    raise RuntimeError("REASON-1")


first = Agent(role="First", goal="Write", backstory="Writes.")
second = Agent(role="Second", goal="Write", backstory="Writes.")
one = Task(description="One DESC-1", expected_output="Text", agent=first, async_execution=True, callback=broken)
two = Task(description="Two DESC-2", expected_output="Text", agent=second)
try:
    Crew(agents=[first, second], tasks=[one, two]).kickoff()
except Exception as error:
    print("caught", type(error).__name__, "REASON-1" in str(error))

parallel = True
script = {"DESC-1": ["OUT-1"], "DESC-2": ["OUT-2"]}
