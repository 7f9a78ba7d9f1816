"""Messages in a flow that takes its own way through a turn."""

from crewai.flow import ChatState, Flow, start
from crewai.flow.conversation import input_history_to_messages, normalize_kickoff_inputs, set_state_field


class F(Flow[ChatState]):
    @start()
    def talk(self):
        self.receive_user_message("hello")
        self.append_message("assistant", "hi", name="Ann")
        set_state_field(self, "last_intent", "greet")
        return len(self.conversation_messages)


flow = F()
result = flow.kickoff()
print(result, flow.state.messages, flow.state.last_user_message, flow.state.last_intent)
print(normalize_kickoff_inputs({"a": 1}, user_message="hello", session_id="s"), normalize_kickoff_inputs(None))
print(input_history_to_messages([{"message": "Who?", "response": "Ann"}, {"message": "Why?", "response": None}]))

script = {}
