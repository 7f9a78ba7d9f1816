"""Two beginnings, each with a listener."""

from crewai.flow.flow import Flow, listen, start


class F(Flow):
    @start()
    def a(self):
        print("a")

    @start()
    def b(self):
        print("b")

    @listen(a)
    def a2(self):
        print("a2")

    @listen(b)
    def b2(self):
        print("b2")


flow = F()
flow.kickoff()
print(len(flow.method_outputs))

parallel = True
script = {}
