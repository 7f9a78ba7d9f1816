"""A flow that saves its states to a backend of its own."""

from crewai.flow.flow import Flow, listen, start
from crewai.flow.persistence import FlowPersistence, persist


class Kept(FlowPersistence):
    persistence_type: str = "Kept"
    saved: list = []

    def init_db(self):
        pass

    def save_state(self, flow_uuid, method_name, state_data):
        self.saved.append((method_name, dict(state_data)["n"]))

    def load_state(self, flow_uuid):
        return None


kept = Kept()


@persist(kept)
class F(Flow):
    @start()
    def one(self):
        self.state["n"] = 1

    @listen(one)
    def two(self):
        self.state["n"] = 2
        return "TWO-1"


result = F().kickoff()
print(result, kept.saved)

script = {}
