"""A flow whose class says what its state begins with."""

from crewai.flow.flow import Flow, start


class F(Flow):
    initial_state = {"count": 40}

    @start()
    def one(self):
        self.state["count"] += 2
        return self.state["count"]


flow = F()
result = flow.kickoff()
print(result, F().kickoff())

script = {}
