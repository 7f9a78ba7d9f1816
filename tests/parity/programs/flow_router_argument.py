"""What routers, listeners of labels and listeners of routers are given."""

from crewai.flow.flow import Flow, listen, router, start


class F(Flow):
    @start()
    def begin(self):
        return "VALUE-1"

    @router(begin)
    def route(self, given):
        print("route", given)
        return "way"

    @listen("way")
    def on_way(self, given):
        print("on_way", given)
        return "W-1"


flow = F()
result = flow.kickoff()
print(result)

script = {}
