"""A router whose label nobody listens to."""

from crewai.flow.flow import Flow, listen, router, start


class F(Flow):
    @start()
    def begin(self):
        return "B-1"

    @router(begin)
    def route(self):
        return "nowhere" if self.state.get("id") else "somewhere"

    @listen("somewhere")
    def on_way(self):
        return "W-1"


flow = F()
result = flow.kickoff()
print(result)

script = {}
