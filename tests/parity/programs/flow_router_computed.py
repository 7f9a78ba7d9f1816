"""A router that computes its label."""

from crewai.flow.flow import Flow, listen, router, start

ROUTES = {"a": "way_a", "b": "way_b"}


class F(Flow):
    @start()
    def begin(self):
        return "b"

    @router(begin)
    def route(self, key):
        return ROUTES[key]

    @listen("way_a")
    def on_a(self):
        return "A-1"

    @listen("way_b")
    def on_b(self):
        return "B-1"


flow = F()
result = flow.kickoff()
print(result)

script = {}
