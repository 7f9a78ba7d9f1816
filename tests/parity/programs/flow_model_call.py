"""A method that asks a model by itself."""

from crewai import LLM
from crewai.flow.flow import Flow, listen, start


class F(Flow):
    @start()
    def ask(self):
        return LLM(model="openai/gpt-4o-mini").call("Say ASK-1")

    @listen(ask)
    def finish(self, text):
        return f"{text} finished"


flow = F()
result = flow.kickoff()
print(result)

script = {"ASK-1": ["ANSWER-1"]}
