"""A state that is a dict."""

from crewai.flow.flow import Flow, listen, start


class F(Flow):
    @start()
    def write(self):
        self.state["notes"] = ["N-1"]
        self.state["count"] = 1

    @listen(write)
    def more(self):
        self.state["notes"].append("N-2")
        self.state["count"] += 1
        return self.state.get("missing", "nothing")


flow = F()
result = flow.kickoff()
print(result, flow.state["notes"], flow.state["count"], "id" in flow.state)

script = {}
