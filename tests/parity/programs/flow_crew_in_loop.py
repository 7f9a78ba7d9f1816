"""A crew whose work another judges until it is good."""

from crewai import Agent, Crew, Task
from crewai.flow.flow import Flow, listen, router, start
from pydantic import BaseModel


def written(description):
    agent = Agent(role="Writer", goal="Write", backstory="Writes.")
    task = Task(description=description, expected_output="Text", agent=agent)
    return Crew(agents=[agent], tasks=[task]).kickoff().raw


class State(BaseModel):
    tries: int = 0
    draft: str = ""


class F(Flow[State]):
    @start("again")
    def write(self):
        self.state.tries += 1
        self.state.draft = written(f"Write DRAFT-0 try {self.state.tries}")

    @router(write)
    def judge(self):
        verdict = written(f"Judge JUDGE-1 {self.state.draft}")
        return "good" if verdict == "GOOD-1" or self.state.tries > 3 else "again"

    @listen("good")
    def publish(self):
        return f"{self.state.draft} in {self.state.tries}"


flow = F()
result = flow.kickoff()
print(result)

script = {"JUDGE-1": ["BAD-1", "GOOD-1"], "DRAFT-0": ["DRAFT-1", "DRAFT-2"]}
