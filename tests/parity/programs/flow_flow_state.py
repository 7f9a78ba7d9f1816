"""A state with an id of its own."""

from crewai.flow.flow import Flow, FlowState, start


class State(FlowState):
    topic: str = "TIDES-1"


class F(Flow[State]):
    @start()
    def one(self):
        return len(self.state.id)


flow = F()
result = flow.kickoff()
print(result, flow.state.id == flow.flow_id, flow.state.topic)

script = {}
