"""A provider that tells somebody and does not wait; the answer comes to another object."""

import tempfile
from pathlib import Path

from crewai.flow import Flow, HumanFeedbackPending, human_feedback, listen, start
from crewai.flow.persistence import SQLiteFlowPersistence


class Notifier:
    def request_feedback(self, context, flow):
        raise HumanFeedbackPending(context=context, callback_info={"about": context.method_output})


class F(Flow):
    @start()
    @human_feedback(message="Good?", provider=Notifier())
    def write(self):
        return "a draft"

    @listen(write)
    def send(self, said):
        return f"sent {said.output}, {said.feedback}"


backend = SQLiteFlowPersistence(str(Path(tempfile.mkdtemp()) / "states.db"))
waiting = F(persistence=backend).kickoff()
print(isinstance(waiting, HumanFeedbackPending), waiting.callback_info)
print(waiting.context.method_name, waiting.context.message, waiting.context.method_output)
flow = F.from_pending(waiting.context.flow_id, backend)
print(flow.pending_feedback.message)
result = flow.resume("fine")
print(result, flow.last_human_feedback.feedback)

script = {}
