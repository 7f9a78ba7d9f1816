"""A conversation whose routes are chosen by the flow, and by a model."""

from crewai import LLM
from crewai.experimental.conversational import ConversationConfig, ConversationState, RouterConfig
from crewai.flow import Flow, listen


@ConversationConfig(system_prompt="Be brief.", llm=LLM(model="openai/gpt-4o-mini"), router=RouterConfig())
class Desk(Flow[ConversationState]):
    conversational = True

    def route_turn(self, context):
        return "ORDER" if "order" in context["current_user_message"] else "converse"

    @listen("ORDER")
    def look_up(self):
        """Orders, and where they are."""
        return f"found after {len(self.state.messages)}"


desk = Desk()
print(desk.handle_turn("my order", session_id="ann"))
print(desk.handle_turn("TALK-1 about it", session_id="ann"))
print([(one["role"], one["content"]) for one in desk.conversation_messages])
print(desk.state.last_intent, desk.state.last_user_message, desk.state.ended)
result = desk.state.id

script = {"TALK-1": ["ANSWER-1"]}
