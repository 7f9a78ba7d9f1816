"""A method that catches what goes wrong and routes by it."""

from crewai.flow.flow import Flow, listen, router, start


def fetch():
    raise ConnectionError("DOWN-1")


class F(Flow):
    @start()
    def one(self):
        try:
            fetch()
        except ConnectionError as error:
            self.state["error"] = str(error)

    @router(one)
    def route(self):
        return "failed" if "error" in self.state else "fine"

    @listen("failed")
    def recover(self):
        return f"recovered from {self.state['error']}"

    @listen("fine")
    def go_on(self):
        return "went on"


flow = F()
result = flow.kickoff()
print(result)

script = {}
