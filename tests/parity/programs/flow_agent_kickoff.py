"""A method that kicks off an agent alone."""

from crewai import Agent
from crewai.flow.flow import Flow, listen, start


class F(Flow):
    @start()
    def ask(self):
        return Agent(role="Writer", goal="Write", backstory="Writes.").kickoff("Say ASK-1").raw

    @listen(ask)
    def finish(self, text):
        return f"{text} finished"


flow = F()
result = flow.kickoff()
print(result)

script = {"ASK-1": ["ANSWER-1"]}
