"""Agents elsewhere, in the hands of agents at work."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import processes
import pytest
from crewgraph_compat.stand_ins.a2a_server import A2AServerConfig
from heard import heard
from langchain_core.callbacks import BaseCallbackHandler
from modes import Mode
from pydantic import BaseModel
from runtime.parts import agent, asked, crew, task
from servers import a2a_server
from servers.a2a_server import RemoteServer, asks, fails, says, works
from until import until

from crewgraph import Agent, BaseAgent, ScriptedLLM, ToolUse
from crewgraph.contrib.a2a import A2AClientConfig, PollingConfig, PushNotificationConfig
from crewgraph.contrib.a2a.config import ClientTransportConfig
from crewgraph.contrib.a2a.extension import ConversationState
from crewgraph.errors import CompileError, RemoteAgentError
from crewgraph.events.a2a import (
    A2AAgentCardFetchedEvent,
    A2AConnectionErrorEvent,
    A2AConversationCompletedEvent,
    A2AConversationStartedEvent,
    A2ADelegationCompletedEvent,
    A2ADelegationStartedEvent,
    A2AEventBase,
    A2AMessageSentEvent,
    A2APollingStatusEvent,
    A2AResponseReceivedEvent,
    A2AStreamingChunkEvent,
)

NAME = "Ask Harbour Office"


def told(message: str, conversation: str = "") -> ToolUse:
    return ToolUse(NAME, {"message": message, "conversation": conversation})


def sailor(remote: Any, *script: Any) -> Agent:
    return agent(ScriptedLLM([*script]), "Sailor", a2a=remote)


def last(one: BaseAgent) -> str:
    """What the model was shown last."""
    return asked(one.llm)[-1]


def polled(server: RemoteServer, **more: Any) -> A2AClientConfig:
    return A2AClientConfig(endpoint=server.endpoint, updates=PollingConfig(interval=0.01), **more)


# ------------------------------------------------------------------ handing work over
def test_work_is_handed_to_a_remote_agent(mode: Mode):
    with RemoteServer([says("high water at six", chunks=["high water ", "at six"])]) as server:
        one = sailor(A2AClientConfig(endpoint=server.endpoint), told("When is high water?"), "At six.")
        assert mode.kickoff(crew(task("a", one))).raw == "At six."
        assert server.texts == ["When is high water?"]
        assert [method for method, _ in server.calls] == ["message/stream"]
    first = one.llm.requests[0].text
    assert "Harbour Office" in first and "Knows the tides" in first
    assert last(one) == "Observation: high water at six"


@pytest.mark.parametrize("direct", [False, True])
def test_a_remote_agent_that_cannot_stream_is_asked_until_it_is_done(mode: Mode, direct: bool):
    with RemoteServer([says("six", seconds=0.05)], streaming=False, direct=direct) as server:
        one = sailor(polled(server), told("When?"), "At six.")
        assert mode.kickoff(crew(task("a", one))).raw == "At six."
        assert bool(server.asked("tasks/get")) is not direct
        sent = server.asked("message/send")[0]
        assert sent["configuration"]["blocking"] is False
        assert sent["configuration"]["acceptedOutputModes"] == ["application/json"]
    assert last(one) == "Observation: six"


def test_a_question_of_the_remote_agent_is_answered_in_the_same_conversation(mode: Mode):
    with RemoteServer([asks("Which day?"), says("six")]) as server:
        remote = A2AClientConfig(endpoint=server.endpoint)
        one = sailor(remote, told("When?"), told("Monday", "1"), "At six.")
        assert mode.kickoff(crew(task("a", one))).raw == "At six."
        first, second = server.messages
        assert "contextId" not in first and (second["contextId"], second["taskId"]) == ("context-1", "task-1")
        assert "Which day?" in asked(one.llm)[-2] and "conversation `1`" in asked(one.llm)[-2]


def test_a_conversation_that_goes_on_after_an_answer_refers_to_it(mode: Mode):
    with RemoteServer([says("six"), says("seven")]) as server:
        one = sailor(A2AClientConfig(endpoint=server.endpoint), told("Monday?"), told("And then?", "1"), "done")
        mode.kickoff(crew(task("a", one)))
        assert server.messages[1]["contextId"] == "context-1" and server.messages[1]["referenceTaskIds"] == ["task-1"]


def test_a_conversation_has_no_more_than_its_turns(mode: Mode):
    with RemoteServer(lambda text: asks("Which day?")) as server:
        remote = A2AClientConfig(endpoint=server.endpoint, max_turns=2)
        one = sailor(remote, told("When?"), told("Monday", "1"), told("Monday!", "1"), told("?", "7"), "enough")
        assert mode.kickoff(crew(task("a", one))).raw == "enough"
        assert len(server.messages) == 2
        assert "no more than 2 messages" in asked(one.llm)[-2] and "no conversation of that number" in last(one)


def test_several_messages_go_out_at_once(mode: Mode):
    class Together(RemoteServer):
        """Answers nobody before three have written."""

        def streamed(self, message: dict[str, Any]) -> Iterator[dict[str, Any]]:
            for result in super().streamed(message):
                yield result
                until(lambda: len(self.messages) == 3)

    with Together(lambda text: says(f"{text}!")) as server:
        llm = ScriptedLLM([[told("a"), told("b"), told("c")], "done"])
        llm.native_tools = True
        one = agent(llm, "Sailor", a2a=[A2AClientConfig(endpoint=server.endpoint)])
        assert mode.kickoff(crew(task("a", one))).raw == "done"
        assert sorted(server.texts) == ["a", "b", "c"]
        assert [message["content"] for message in llm.requests[-1].messages[-3:]] == ["a!", "b!", "c!"]


def test_its_result_may_be_the_answer(mode: Mode):
    with RemoteServer([asks("Which day?"), says("six")]) as server:
        remote = A2AClientConfig(endpoint=server.endpoint, trust_remote_completion_status=True)
        one = sailor(remote, told("When?"), told("Monday", "1"))
        assert mode.kickoff(crew(task("a", one))).raw == "six"


class Tide(BaseModel):
    hour: int


def test_a_result_has_the_form_that_is_wanted(mode: Mode):
    with RemoteServer([says("six"), says("", data={"hour": 6})], streaming=False) as server:
        one = sailor(polled(server, response_model=Tide), told("When?"), told("In numbers?"), "done")
        mode.kickoff(crew(task("a", one)))
        assert server.messages[0]["parts"][0]["metadata"]["schema"]["required"] == ["hour"]
        assert "gave no `Tide`" in asked(one.llm)[-2] and last(one) == 'Observation: {"hour":6}'


def test_an_agent_on_its_own_has_remote_agents_too():
    with RemoteServer([says("six")]) as server:
        one = sailor({"endpoint": server.endpoint}, told("When?"), "At six.")
        assert one.kickoff("When is high water?").raw == "At six."


# ------------------------------------------------------------------ failures
def test_a_failure_is_told_to_the_model(mode: Mode):
    with RemoteServer([fails("no tides today")]) as server:
        one = sailor(A2AClientConfig(endpoint=server.endpoint), told("When?"), "Nobody knows.")
        assert mode.kickoff(crew(task("a", one))).raw == "Nobody knows."
    assert "failed): no tides today" in last(one)


@pytest.mark.parametrize("streaming", [False, True])
def test_what_takes_too_long_is_given_up_and_the_remote_agent_told(mode: Mode, streaming: bool):
    for times in (1, 10, 40):  # on a busy machine, the time may be over before the remote agent has begun
        with RemoteServer([works()], streaming=streaming) as server:
            updates: dict[str, Any] = {}
            if not streaming:
                updates = {"updates": PollingConfig(interval=0.05, timeout=0.2 * times)}
            one = sailor(A2AClientConfig(endpoint=server.endpoint, timeout=times, **updates), told("When?"), "late")
            assert mode.kickoff(crew(task("a", one))).raw == "late"
            cancelled = server.asked("tasks/cancel")
        if cancelled:
            break
    assert cancelled == [{"id": "task-1"}]
    assert "more time" in last(one)


def test_a_stream_that_breaks_off_is_followed_by_questions(mode: Mode):
    with RemoteServer([says("six")], cut=True) as server:
        one = sailor(A2AClientConfig(endpoint=server.endpoint), told("When?"), "done")
        mode.kickoff(crew(task("a", one)))
        assert len(server.messages) == 1 and server.asked("tasks/get")
    assert last(one) == "Observation: six"


def test_a_remote_agent_that_is_not_there_ends_the_run_before_a_model_is_asked(mode: Mode):
    one = sailor(A2AClientConfig(endpoint="http://127.0.0.1:9/.well-known/agent-card.json"), "never")
    with heard() as events, pytest.raises(RemoteAgentError, match="cannot be reached"):
        mode.kickoff(crew(task("a", one)))
    failed = [event for event in events if isinstance(event, A2AConnectionErrorEvent)]
    assert one.llm.requests == [] and failed[0].operation == "fetch_agent_card"


def test_a_run_goes_on_without_one_that_may_be_missing(mode: Mode, caplog: pytest.LogCaptureFixture):
    missing = A2AClientConfig(endpoint="http://127.0.0.1:9", fail_fast=False)
    with RemoteServer([]) as server, caplog.at_level(logging.WARNING, "crewgraph.tools"):
        one = sailor([missing, A2AClientConfig(endpoint=server.url)], "alone")
        assert mode.kickoff(crew(task("a", one))).raw == "alone"
    assert "works without a remote agent" in caplog.text
    assert one.llm.requests[0].text.count("Ask_Harbour_Office") > 0


def test_other_hosts_are_not_followed():
    with RemoteServer([]) as server:
        server.moved = "http://elsewhere.invalid/card.json"
        with pytest.raises(
            RemoteAgentError, match="redirects to `http://elsewhere.invalid/card.json`, on another host"
        ):
            crew(task("a", sailor(A2AClientConfig(endpoint=server.endpoint), "x"))).kickoff()
    with (
        RemoteServer([], card={"url": "http://elsewhere.invalid/rpc"}) as server,
        pytest.raises(RemoteAgentError, match="on another host"),
    ):
        crew(task("a", sailor(A2AClientConfig(endpoint=server.endpoint), "x"))).kickoff()


def test_one_without_json_rpc_is_refused():
    with (
        RemoteServer([], card={"preferredTransport": "GRPC"}) as server,
        pytest.raises(RemoteAgentError, match="its card offers GRPC"),
    ):
        crew(task("a", sailor(A2AClientConfig(endpoint=server.endpoint), "x"))).kickoff()
    remote = A2AClientConfig(endpoint="http://127.0.0.1:9", transport=ClientTransportConfig(preferred="GRPC"))
    with pytest.raises(CompileError, match="speaks JSON-RPC"):
        crew(task("a", sailor(remote, "x"))).compile()


# ------------------------------------------------------------------ seen from outside
def test_listeners_are_told(mode: Mode):
    with RemoteServer([asks("Which day?"), says("six")]) as server, heard() as every:
        one = sailor(A2AClientConfig(endpoint=server.endpoint), told("When?"), told("Monday", "1"), "done")
        mode.kickoff(crew(task("a", one)))
    events = [event for event in every if isinstance(event, A2AEventBase)]
    assert events[0].type == "a2a_agent_card_fetched"
    of: dict[type[Any], list[Any]] = {}
    for event in events:
        of.setdefault(type(event), []).append(event)
    assert len(of[A2AConversationStartedEvent]) == 1 and len(of[A2AConversationCompletedEvent]) == 1
    assert [event.turn_number for event in of[A2ADelegationStartedEvent]] == [1, 2]
    assert [event.status for event in of[A2ADelegationCompletedEvent]] == ["input_required", "completed"]
    assert [event.message for event in of[A2AMessageSentEvent]] == ["When?", "Monday"]
    assert [(event.response, event.final) for event in of[A2AResponseReceivedEvent]] == [
        ("Which day?", False),
        ("six", True),
    ]
    done = of[A2AConversationCompletedEvent][0]
    assert (done.status, done.final_result, done.total_turns, done.context_id) == ("completed", "six", 2, "context-1")
    assert done.a2a_agent_name == "Harbour Office" and done.agent_role == "Sailor"
    assert of[A2AStreamingChunkEvent] and of[A2AAgentCardFetchedEvent][0].protocol_version == "0.3.0"


def test_questions_about_a_task_are_told(mode: Mode):
    with RemoteServer([says("six", polls=3)], streaming=False) as server, heard() as every:
        mode.kickoff(crew(task("a", sailor(polled(server), told("When?"), "done"))))
    events = [event for event in every if isinstance(event, A2APollingStatusEvent)]
    assert events[0].state == "working" and events[-1].state == "completed" and events[-1].poll_count == len(events)


class Spans(BaseCallbackHandler):
    def __init__(self) -> None:
        self.names: list[str] = []

    def on_chain_start(self, serialized: Any, inputs: Any, **more: Any) -> None:
        self.names.append(str(more.get("name")))


def test_a_remote_agent_is_seen_in_the_trace():
    with RemoteServer([says("six")]) as server:
        spans = Spans()
        made = crew(task("a", sailor(A2AClientConfig(endpoint=server.endpoint), told("When?"), "done")))
        made.compile().invoke({}, {"callbacks": [spans]})
    assert NAME in spans.names


def test_notifications_are_asked_for_and_waited_for(mode: Mode):
    with RemoteServer([says("six", seconds=0.05)]) as server:
        push = PushNotificationConfig.model_validate({"url": "http://127.0.0.1:9/hook", "token": "t", "interval": 0.02})
        one = sailor(A2AClientConfig(endpoint=server.endpoint, updates=push), told("When?"), "done")
        mode.kickoff(crew(task("a", one)))
        sent = server.asked("message/send")[0]["configuration"]["pushNotificationConfig"]
    assert sent == {"url": "http://127.0.0.1:9/hook", "token": "t"} and last(one) == "Observation: six"


class Loud:
    def inject_tools(self, agent: Any) -> None: ...

    def extract_state_from_history(self, conversation_history: Any) -> ConversationState | None:
        return None

    def augment_prompt(self, base_prompt: str, conversation_state: Any) -> str:
        return f"{base_prompt} It shouts."

    def process_response(self, agent_response: Any, conversation_state: Any) -> Any:
        return str(agent_response).upper()

    def prepare_message_metadata(self, conversation_state: Any) -> dict[str, Any]:
        return {"volume": 11} if conversation_state is None else {"heard": conversation_state.heard}


class Heard:
    def __init__(self, heard: int) -> None:
        self.heard = heard

    def is_ready(self) -> bool:
        return True


class Listening(Loud):
    def extract_state_from_history(self, conversation_history: Any) -> ConversationState | None:
        said = [(message["role"], message["parts"][0]["text"]) for message in conversation_history]
        return Heard(len(said)) if said[:2] == [("user", "When?"), ("agent", "Which day?")] else None


def test_extensions_have_a_say():
    with RemoteServer([says("six")]) as server:
        remote = A2AClientConfig(endpoint=server.endpoint, client_extensions=[Loud()], extensions=["urn:loud"])
        one = sailor(remote, told("When?"), "done")
        crew(task("a", one)).kickoff()
        assert server.messages[0]["metadata"] == {"volume": 11}
        assert server.headers[-1]["X-A2A-Extensions"] == "urn:loud"
    assert "It shouts." in one.llm.requests[0].text and last(one) == "Observation: SIX"


def test_extensions_are_shown_the_conversation(mode: Mode):
    with RemoteServer([asks("Which day?"), says("six")]) as server:
        remote = A2AClientConfig(endpoint=server.endpoint, client_extensions=[Listening()])
        mode.kickoff(crew(task("a", sailor(remote, told("When?"), told("Monday", "1"), "done"))))
        assert [message["metadata"] for message in server.messages] == [{"volume": 11}, {"heard": 2}]


def test_an_agent_with_a_server_works_as_without():
    with pytest.warns(UserWarning, match="does not serve agents"):
        one = sailor(A2AServerConfig(name="Me"), "fine")
    again = sailor(A2AServerConfig(name="Me"), "fine")  # told once
    assert crew(task("a", one)).kickoff().raw == crew(task("a", again)).kickoff().raw == "fine"


# ------------------------------------------------------------------ resume
def test_what_is_on_record_is_not_asked_for_again(mode: Mode):
    with RemoteServer([asks("Which day?")]) as server:
        one = sailor(A2AClientConfig(endpoint=server.endpoint), told("When?"), ConnectionError("down"))
        made = crew(task("a", one))
        with pytest.raises(ConnectionError, match="down"):
            mode.kickoff(made, thread_id="x")
    one.llm = ScriptedLLM(["Final Answer: done"])
    assert mode.resume(made, "x").raw == "done"  # the remote agent is gone by now
    assert "Which day?" in last(one)


RUN = """
import sys
from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.contrib.a2a import A2AClientConfig, PollingConfig, StreamingConfig

updates = PollingConfig(interval=0.05) if sys.argv[3] == "polled" else StreamingConfig()
remote = A2AClientConfig(endpoint=sys.argv[1], updates=updates)
script = [ToolUse("Ask Harbour Office", {"message": "When?"}), "Final Answer: at six"]
given = script if sys.argv[2] == "first" else script[1:]
one = Agent(role="r", goal="g", backstory="b", llm=ScriptedLLM(given, model="m"), a2a=remote)
crew = Crew(agents=[one], tasks=[Task(name="t", description="d", expected_output="x", agent=one)])
print((crew.kickoff(thread_id="x") if sys.argv[2] == "first" else crew.resume("x")).raw)
print(one.llm.requests[-1].text[-17:])
"""


def is_kept(what: bytes, storage: Path) -> bool:
    for part in storage.rglob("*.db*"):
        with suppress(FileNotFoundError):  # a journal, that is gone with its transaction
            if what in part.read_bytes():
                return True
    return False


@pytest.mark.parametrize("updates", ["streamed", "polled"])
def test_a_run_that_was_killed_while_it_waited_goes_on_with_the_same_task(tmp_path: Path, storage: Path, updates: str):
    notes = tmp_path / "notes"
    served = processes.Popen([sys.executable, a2a_server.__file__, str(notes)], stdout=subprocess.PIPE, text=True)
    try:
        assert served.stdout is not None
        words = [sys.executable, "-c", RUN, served.stdout.readline().strip()]
        first = processes.Popen([*words, "first", updates])
        until(lambda: is_kept(b"task-1", storage))
        first.kill()
        first.wait()
        Path(f"{notes}.go").touch()
        second = processes.run([*words, "second", updates], capture_output=True, text=True, timeout=250, check=False)
        assert second.stdout.splitlines() == ["at six", "high water at six"], second.stderr
        assert len(notes.read_text().splitlines()) == 1
    finally:
        served.kill()
        served.communicate()


def test_a_copy_of_an_agent_has_its_remote_agents():
    one = sailor(A2AClientConfig(endpoint="http://127.0.0.1:9"), "x")
    assert one.copy().a2a.endpoint == "http://127.0.0.1:9/"
