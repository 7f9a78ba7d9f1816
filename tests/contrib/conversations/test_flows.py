"""Conversational flows: turns, routes, stored state and events."""

import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import processes
import pytest
from modes import Mode

from crewgraph import ScriptedLLM
from crewgraph.events import crewai_event_bus
from crewgraph.events.flow import (
    ConversationMessageAddedEvent,
    ConversationRouteSelectedEvent,
    ConversationTurnCompletedEvent,
    ConversationTurnFailedEvent,
    ConversationTurnStartedEvent,
)
from crewgraph.flow import (
    ConversationConfig,
    ConversationMessage,
    ConversationState,
    Flow,
    RouterConfig,
    SQLiteFlowPersistence,
    listen,
    persist,
    start,
)


def said(flow: Any) -> list[tuple[str, Any]]:
    return [(message["role"], message["content"]) for message in flow.conversation_messages]


class Desk(Flow[ConversationState]):
    """Routes each message by its first word."""

    conversational = True

    def route_turn(self, context: dict[str, Any]) -> str | None:
        return "order" if "order" in context["current_user_message"] else None

    @listen("order")
    def look_up(self) -> str:
        """Orders, and where they are."""
        return f"on its way, {len(self.state.messages)}"


class KeptDesk(Desk):
    checkpointer = True


def turn(flow: Any, mode: Mode, *args: Any, **kwargs: Any) -> Any:
    return mode.run(partial(flow.handle_turn, **kwargs), partial(flow.ahandle_turn, **kwargs), *args)


def test_a_message_is_answered_by_the_listener_to_its_route(mode: Mode):
    desk = Desk()

    assert turn(desk, mode, "where is my order?", session_id="a") == "on its way, 1"
    assert said(desk) == [("user", "where is my order?"), ("assistant", "on its way, 1")]
    assert (desk.flow_id, desk.state.last_intent, desk.state.last_user_message) == ("a", "order", "where is my order?")


def test_what_was_said_is_there_in_the_next_turn(mode: Mode):
    desk = Desk()
    for _ in range(2):
        turn(desk, mode, "my order")

    assert [text for _, text in said(desk)] == ["my order", "on its way, 1", "my order", "on its way, 3"]


def test_without_a_model_a_message_that_has_no_route_is_told_so(mode: Mode):
    assert turn(Desk(), mode, "hello") == "There is no model to answer yet."


def test_a_model_chooses_the_route_and_talks(mode: Mode):
    model = ScriptedLLM(['{"intent": "SEARCH"}', '{"intent": "converse"}', "hello", "no idea", "so it is", "`end`"])

    @ConversationConfig(llm=model, system_prompt="Be brief.", router=RouterConfig(prompt="A library."))
    class Library(Flow[ConversationState]):
        @listen("SEARCH")
        def search(self) -> str:
            """Look into the shelves.

            All of them.
            """
            return "found"

    library = Library()
    answers = [turn(library, mode, text) for text in ("find it", "hi", "hm", "bye")]

    assert answers == ["found", "hello", "so it is", "The conversation is over."]
    assert library.state.ended
    emitted = str(model.requests[0].messages[0]["content"])
    assert emitted.startswith("A library.")
    assert "- SEARCH: Look into the shelves.\n- converse: " in emitted
    assert [message["content"] for message in model.requests[2].messages] == ["Be brief.", "find it", "found", "hi"]


def test_intents_are_distinguished_first(mode: Mode):
    model = ScriptedLLM(["The second: order.", "none of them"])

    @ConversationConfig(intent_llm=model, default_intents=["end", "order"])
    class Library(Desk):
        pass

    assert turn(Library(), mode, "where is it?") == "on its way, 1"
    with pytest.warns(UserWarning, match="using `end`"):
        assert turn(Library(), mode, "hm") == "The conversation is over."


def test_a_custom_listener_takes_the_place_of_the_one_that_is_there(mode: Mode):
    class Parrot(Flow[ConversationState]):
        conversational = True

        @listen("converse")
        def repeat(self) -> str:
            return str(self.state.messages[-1].content)

    parrot = Parrot()

    assert turn(parrot, mode, "hello") == "hello"
    assert said(parrot) == [("user", "hello"), ("assistant", "hello")]
    assert set(Parrot.topology().methods) == {
        "route_conversation", "repeat", "end_conversation", "answer_from_history_turn",
    }  # fmt: skip


def test_what_a_method_says_itself_is_not_said_twice(mode: Mode):
    class Shop(Flow[ConversationState]):
        conversational = True

        @listen("converse")
        def talk(self) -> str:
            self.append_agent_result("scout", {"a": 1})
            self.append_agent_result("clerk", "gladly", visibility="public", metadata={"k": 1})
            return "done"

    shop = Shop()
    turn(shop, mode, "hello")

    assert said(shop) == [("user", "hello"), ("assistant", "gladly")]
    assert [event.payload for event in shop.state.events] == [{"content": "{'a': 1}"}, {"content": "gladly", "k": 1}]
    assert [message["content"] for message in shop.build_agent_context("scout")] == ["hello", "gladly", "{'a': 1}"]


def test_a_flow_that_is_no_conversation_has_no_turns():
    class Plain(Flow[dict[str, Any]]):
        @start()
        def begin(self) -> str:
            return "begun"

    for method in (Plain().handle_turn, Plain().stream_turn):
        with pytest.raises(
            ValueError, match=f"`{method.__name__}` needs a conversational flow, but `Plain` is not one"
        ):
            method("hi")
    assert Plain().kickoff() == "begun"


def test_another_object_continues_with_a_conversation_that_is_kept(mode: Mode):
    turn(KeptDesk(), mode, "my order", session_id="a")
    turn(KeptDesk(), mode, "another one", session_id="b")
    desk = KeptDesk()

    assert turn(desk, mode, "my order", session_id="a") == "on its way, 3"
    assert [text for _, text in said(desk)] == ["my order", "on its way, 1", "my order", "on its way, 3"]
    assert all(isinstance(message, ConversationMessage) for message in desk.state.messages)
    assert {run.flow_id for run in KeptDesk.runs()} == {"a", "b"}


def test_another_process_continues_with_a_conversation(storage: Path):
    KeptDesk().handle_turn("my order", session_id="a")
    program = f"from {__name__} import KeptDesk; print(KeptDesk().handle_turn('the order', session_id='a'))"
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = processes.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=where)

    assert ran.stdout == "on its way, 3\n"


def test_a_backend_is_given_what_the_turn_ended_with(mode: Mode, tmp_path: Path):
    backend = SQLiteFlowPersistence(tmp_path / "turns.db")

    @persist(backend)
    class Saved(Desk):
        checkpointer = False

    turn(Saved(), mode, "my order", session_id="a")
    saved = backend.load_state("a")

    assert saved is not None
    assert [message["content"] for message in saved["messages"]] == ["my order", "on its way, 1"]
    assert turn(Saved(), mode, "my order", session_id="a") == "on its way, 3"


sea = {"calm": False}


class Sailing(Flow[ConversationState]):
    conversational = True
    checkpointer = True

    @listen("converse")
    def look(self) -> str:
        self.append_assistant_message("looked")
        return "looked"

    @listen(look)
    def sail(self) -> str:
        if not sea["calm"]:
            raise OSError("waves")
        return "sailed"


def test_the_same_message_continues_with_a_turn_that_failed(mode: Mode):
    sea["calm"] = False
    with pytest.raises(OSError, match="waves"):
        turn(Sailing(), mode, "out", session_id="a")
    sea["calm"] = True
    sailing = Sailing()

    assert turn(sailing, mode, "out", session_id="a") == "sailed"
    assert said(sailing) == [("user", "out"), ("assistant", "looked")]


def test_a_conversation_that_waits_for_an_answer_hears_no_message(mode: Mode):
    class Asking(Flow[ConversationState]):
        conversational = True
        checkpointer = True

        @listen("converse")
        def look(self) -> str:
            return f"so, {self.ask('really?')}"

    turn(Asking(), mode, "out", session_id="a")
    with pytest.raises(RuntimeError, match=r"waits for human feedback; give it with `resume\('a', ...\)`"):
        turn(Asking(), mode, "home", session_id="a")
    asking = Asking()

    assert mode.run(asking.resume, asking.aresume, "a", "yes") == "so, yes"
    assert said(asking) == [("user", "out"), ("assistant", "so, yes")]


def test_turns_are_reported(mode: Mode):
    emitted: list[Any] = []

    def note(_source: Any, event: Any) -> None:
        emitted.append(event)

    with crewai_event_bus.scoped_handlers():
        for event in (
            ConversationTurnStartedEvent,
            ConversationMessageAddedEvent,
            ConversationRouteSelectedEvent,
            ConversationTurnCompletedEvent,
        ):
            crewai_event_bus.on(event)(note)
        turn(Desk(), mode, "my order", session_id="a")

    assert [(event.type, event.session_id) for event in emitted] == [
        ("conversation_turn_started", "a"), ("conversation_message_added", "a"),
        ("conversation_route_selected", "a"), ("conversation_message_added", "a"),
        ("conversation_turn_completed", "a"),
    ]  # fmt: skip
    assert (emitted[1].role, emitted[1].message_index, emitted[2].route, emitted[3].content) == (
        "user", 0, "order", "on its way, 1",
    )  # fmt: skip


def test_a_turn_that_fails_is_reported(mode: Mode):
    emitted: list[str] = []

    def note(_source: Any, event: ConversationTurnFailedEvent) -> None:
        emitted.append(str(event.error))

    sea["calm"] = False
    with crewai_event_bus.scoped_handlers():
        crewai_event_bus.on(ConversationTurnFailedEvent)(note)
        with pytest.raises(OSError, match="waves"):
            turn(Sailing(), mode, "out")

    assert emitted == ["waves"]


def test_a_conversation_on_the_terminal_ends_with_a_word():
    lines, shown = iter(["my order", "  ", "Exit"]), list[str]()
    Desk().chat(input_fn=lambda prompt: next(lines), output_fn=shown.append, assistant_prefix="> ")

    assert shown == ["> on its way, 1"]


def test_a_plain_flow_keeps_what_is_said_in_its_state():
    class Plain(Flow[dict[str, Any]]):
        @start()
        def begin(self) -> list[dict[str, Any]]:
            self.append_message("user", "hi", name="Ann")
            return self.conversation_messages

    assert Plain().kickoff() == [{"role": "user", "content": "hi", "name": "Ann"}]
