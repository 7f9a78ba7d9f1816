"""A flow of two crews, the second of which is given what the first wrote."""

from crewai import Agent, Crew, Task
from crewai.flow.flow import Flow, listen, start


def written(description):
    agent = Agent(role="Writer", goal="Write", backstory="Writes.")
    task = Task(description=description, expected_output="Text", agent=agent)
    return Crew(agents=[agent], tasks=[task]).kickoff().raw


class F(Flow):
    @start()
    def research(self):
        return written("Find facts FIND-1")

    @listen(research)
    def write(self, facts):
        self.state["post"] = written(f"Write of {facts} WRITE-1")
        return self.state["post"]


flow = F()
result = flow.kickoff()
print(result)

script = {"WRITE-1": ["POST-1"], "FIND-1": ["FACT-1"]}
