"""A crew that fails inside of a method."""

from crewai import Agent, Crew, Task
from crewai.flow.flow import Flow, listen, start


def written(description):
    agent = Agent(role="Writer", goal="Write", backstory="Writes.", max_retry_limit=0)
    task = Task(description=description, expected_output="Text", agent=agent)
    return Crew(agents=[agent], tasks=[task]).kickoff().raw


class F(Flow):
    @start()
    def write(self):
        try:
            return written("Write WRITE-1")
        except Exception:
            return "failed"

    @listen(write)
    def finish(self, text):
        return f"{text} finished"


flow = F()
result = flow.kickoff()
print(result)

script = {"WRITE-1": [{"status": 400}]}
