"""Somebody else answers what a method asks."""

from crewai.flow import Flow, start
from crewai.flow.input_provider import InputResponse


class Post:
    def request_input(self, message, flow, metadata=None):
        return InputResponse(text=f"{message} Ann.", metadata={"by": "post"})


class F(Flow):
    @start()
    def ask_name(self):
        return self.ask("Who?", metadata={"k": 1})


flow = F(input_provider=Post())
result = flow.kickoff()
print(result)
entry = flow._input_history[0]
print(entry["message"], entry["response"], entry["method_name"], entry["metadata"], entry["response_metadata"])

script = {}
