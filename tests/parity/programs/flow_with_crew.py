"""A flow whose first method kicks a crew off and whose second uses what came of it."""

from crewai import Agent, Crew, Task
from crewai.flow.flow import Flow, listen, start
from pydantic import BaseModel


class State(BaseModel):
    topic: str = "TOPIC-1"
    text: str = ""


class Writing(Flow[State]):
    @start()
    def write(self):
        agent = Agent(role="Writer", goal="Write", backstory="Writes.")
        task = Task(description="On {topic} DESC-1", expected_output="Text", agent=agent)
        crew = Crew(agents=[agent], tasks=[task])
        self.state.text = crew.kickoff(inputs={"topic": self.state.topic}).raw
        return self.state.text

    @listen(write)
    def finish(self, text):
        return f"{text} finished"


flow = Writing()
result = flow.kickoff()
print(result, flow.state.text)

script = {"DESC-1": ["OUT-1"]}
