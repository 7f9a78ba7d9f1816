"""A crew that a method kicks off for several inputs."""

from crewai import Agent, Crew, Task
from crewai.flow.flow import Flow, start


class F(Flow):
    @start()
    def write(self):
        agent = Agent(role="Writer", goal="Write", backstory="Writes.")
        task = Task(description="Write of {topic}", expected_output="Text", agent=agent)
        crew = Crew(agents=[agent], tasks=[task])
        return [one.raw for one in crew.kickoff_for_each([{"topic": "TIDE-1"}, {"topic": "MOON-1"}])]


flow = F()
result = flow.kickoff()
print(result)

script = {"TIDE-1": ["OUT-1"], "MOON-1": ["OUT-2"]}
