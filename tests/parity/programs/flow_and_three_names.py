"""A method that waits for three, given by name."""

from crewai.flow.flow import Flow, and_, listen, start


class F(Flow):
    @start()
    def a(self):
        self.state["a"] = "A-1"

    @listen("a")
    def b(self):
        self.state["b"] = "B-1"

    @listen("b")
    def c(self):
        self.state["c"] = "C-1"

    @listen(and_("a", "b", "c"))
    def all_of_them(self):
        return " ".join(self.state[name] for name in "abc")


flow = F()
result = flow.kickoff()
print(result)

script = {}
