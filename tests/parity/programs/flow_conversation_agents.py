"""What agents found out in a conversation, beside what is said."""

from crewai.experimental.conversational import ConversationConfig, ConversationState
from crewai.flow import Flow, listen


@ConversationConfig(visible_agent_outputs=["clerk"])
class Shop(Flow[ConversationState]):
    conversational = True

    def route_turn(self, context):
        return "ASK"

    @listen("ASK")
    def ask(self):
        self.append_agent_result("scout", {"depth": 3})
        self.append_agent_result("clerk", "three fathoms", metadata={"sure": True})
        return "not said"


shop = Shop()
print(shop.handle_turn("how deep?", session_id="a"))
print(shop.conversation_messages)
print([(one.agent_name, one.visibility, one.payload) for one in shop.state.events])
print(shop.build_agent_context("scout"))
result = sorted(shop.state.agent_threads)

script = {}
