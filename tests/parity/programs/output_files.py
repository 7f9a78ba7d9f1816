"""output_file: plain, in a folder that is not there, with a placeholder and a space."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
tasks = [
    Task(description="One DESC-1", expected_output="Text", agent=agent, output_file="one.md"),
    Task(description="Two DESC-2", expected_output="Text", agent=agent, output_file="out/deep/two.md"),
    Task(description="Three DESC-3", expected_output="Text", agent=agent, output_file="out/{name}.txt"),
]
result = Crew(agents=[agent], tasks=tasks).kickoff(inputs={"name": "high tide"})
print(result.raw)

script = {"DESC-1": ["OUT-1\nwith two lines"], "DESC-2": ["OUT-2"], "DESC-3": ["OUT-3"]}
