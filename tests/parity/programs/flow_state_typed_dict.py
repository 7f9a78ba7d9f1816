"""A state that is said to be a dict."""

from typing import Any

from crewai.flow.flow import Flow, start


class F(Flow[dict[str, Any]]):
    @start()
    def write(self):
        self.state["a"] = 1
        return sorted(self.state)


flow = F()
result = flow.kickoff()
print(result)

script = {}
