"""What is left after a listener has raised."""

from crewai.flow.flow import Flow, listen, start


class Down(Exception):
    pass


class F(Flow):
    @start()
    def one(self):
        self.state["one"] = "ONE-1"
        return "R-1"

    @listen(one)
    def two(self):
        raise Down("DOWN-1")


flow = F()
try:
    flow.kickoff()
except Down as error:
    print("caught", error, flow.state["one"], flow.method_outputs)

script = {}
