"""The second of three tasks fails; what the first gave is on the task."""

from crewai import Agent, Crew, Task


def broken(output):
    raise RuntimeError("REASON-1")


agent = Agent(role="Writer", goal="Write", backstory="Writes.")
one = Task(description="One DESC-1", expected_output="Text", agent=agent)
two = Task(description="Two DESC-2", expected_output="Text", agent=agent, callback=broken)
three = Task(description="Three DESC-3", expected_output="Text", agent=agent)
try:
    Crew(agents=[agent], tasks=[one, two, three]).kickoff()
except RuntimeError as error:
    print("caught", "REASON-1" in str(error))
print(one.output.raw, three.output)

script = {"DESC-1": ["OUT-1"], "DESC-2": ["OUT-2"], "DESC-3": ["OUT-3"]}
