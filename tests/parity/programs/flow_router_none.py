"""A router that returns nothing ends its branch."""

from crewai.flow.flow import Flow, listen, router, start


class F(Flow):
    @start()
    def begin(self):
        return "B-1"

    @router(begin)
    def route(self):
        print("routed")
        return

    @listen("never")
    def on_never(self):
        print("never")


flow = F()
result = flow.kickoff()
print(result)

script = {}
