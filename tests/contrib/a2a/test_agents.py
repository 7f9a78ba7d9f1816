"""Remote agents as tools of agents in runs."""

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
from langchain_core.callbacks import BaseCallbackHandler
from modes import Mode
from pydantic import BaseModel
from runtime.parts import agent, asked, crew, task
from servers import a2a_server
from servers.a2a_server import RemoteServer, asks, says, works
from waiting import wait_until

from crewgraph import Agent, BaseAgent, ScriptedLLM, ToolUse
from crewgraph.contrib.a2a import A2AClientConfig, PollingConfig, PushNotificationConfig
from crewgraph.contrib.a2a.config import ClientTransportConfig
from crewgraph.contrib.a2a.extension import ExtensionState
from crewgraph.errors import CompileError, RemoteAgentError
from crewgraph.events.a2a import (
    A2AConversationCompletedEvent,
    A2AConversationStartedEvent,
    A2ADelegationCompletedEvent,
    A2ADelegationStartedEvent,
    A2AEventBase,
    A2AMessageSentEvent,
    A2AResponseReceivedEvent,
    A2AStreamingChunkEvent,
)
from crewgraph.testing import record_events

NAME = "Ask Harbour Office"


def remote_call(message: str, conversation: str = "") -> ToolUse:
    return ToolUse(NAME, {"message": message, "conversation": conversation})


def sailor(remote: Any, *script: Any) -> Agent:
    return agent(ScriptedLLM([*script]), "Sailor", a2a=remote)


def last(agent: BaseAgent) -> str:
    """Return the last message that the agent's model received."""
    return asked(agent.llm)[-1]


def polling(server: RemoteServer, **more: Any) -> A2AClientConfig:
    return A2AClientConfig(endpoint=server.endpoint, updates=PollingConfig(interval=0.01), **more)


def test_work_is_passed_to_a_remote_agent(mode: Mode):
    with RemoteServer([says("high water at six", chunks=["high water ", "at six"])]) as server:
        agent = sailor(A2AClientConfig(endpoint=server.endpoint), remote_call("When is high water?"), "At six.")
        assert mode.kickoff(crew(task("a", agent))).raw == "At six."
        assert server.texts == ["When is high water?"]
        assert [method for method, _ in server.calls] == ["message/stream"]
    first = agent.llm.requests[0].text
    assert "Harbour Office" in first and "Knows the tides" in first
    assert last(agent) == "Observation: high water at six"


@pytest.mark.parametrize("direct", [False, True])
def test_a_remote_agent_that_cannot_stream_is_asked_until_it_is_done(mode: Mode, direct: bool):
    with RemoteServer([says("six", seconds=0.05)], streaming=False, direct=direct) as server:
        agent = sailor(polling(server), remote_call("When?"), "At six.")
        assert mode.kickoff(crew(task("a", agent))).raw == "At six."
        assert bool(server.asked("tasks/get")) is not direct
        sent = server.asked("message/send")[0]
        assert sent["configuration"]["blocking"] is False
        assert sent["configuration"]["acceptedOutputModes"] == ["application/json"]
    assert last(agent) == "Observation: six"


def test_a_question_of_the_remote_agent_is_answered_in_the_same_conversation(mode: Mode):
    with RemoteServer([asks("Which day?"), says("six")]) as server:
        remote = A2AClientConfig(endpoint=server.endpoint)
        agent = sailor(remote, remote_call("When?"), remote_call("Monday", "1"), "At six.")
        assert mode.kickoff(crew(task("a", agent))).raw == "At six."
        first, second = server.messages
        assert "contextId" not in first and (second["contextId"], second["taskId"]) == ("context-1", "task-1")
        assert "Which day?" in asked(agent.llm)[-2] and "conversation `1`" in asked(agent.llm)[-2]


def test_a_conversation_has_no_more_than_its_turns(mode: Mode):
    with RemoteServer(lambda text: asks("Which day?")) as server:
        remote = A2AClientConfig(endpoint=server.endpoint, max_turns=2)
        agent = sailor(
            remote,
            remote_call("When?"),
            remote_call("Monday", "1"),
            remote_call("Monday!", "1"),
            remote_call("?", "7"),
            "enough",
        )
        assert mode.kickoff(crew(task("a", agent))).raw == "enough"
        assert len(server.messages) == 2
        assert "limited to 2 messages" in asked(agent.llm)[-2] and "no conversation with that number" in last(agent)


def test_several_messages_go_out_at_once(mode: Mode):
    class Together(RemoteServer):
        """Answers only after three messages have arrived."""

        def streamed(self, message: dict[str, Any]) -> Iterator[dict[str, Any]]:
            for result in super().streamed(message):
                yield result
                wait_until(lambda: len(self.messages) == 3)

    with Together(lambda text: says(f"{text}!")) as server:
        llm = ScriptedLLM([[remote_call("a"), remote_call("b"), remote_call("c")], "done"])
        llm.native_tools = True
        one = agent(llm, "Sailor", a2a=[A2AClientConfig(endpoint=server.endpoint)])
        assert mode.kickoff(crew(task("a", one))).raw == "done"
        assert sorted(server.texts) == ["a", "b", "c"]
        assert [message["content"] for message in llm.requests[-1].messages[-3:]] == ["a!", "b!", "c!"]


class Tide(BaseModel):
    hour: int


def test_a_result_has_the_form_that_is_wanted(mode: Mode):
    with RemoteServer([says("six"), says("", data={"hour": 6})], streaming=False) as server:
        agent = sailor(polling(server, response_model=Tide), remote_call("When?"), remote_call("In numbers?"), "done")
        mode.kickoff(crew(task("a", agent)))
        assert server.messages[0]["parts"][0]["metadata"]["schema"]["required"] == ["hour"]
        assert "gave no `Tide`" in asked(agent.llm)[-2] and last(agent) == 'Observation: {"hour":6}'


def test_an_agent_on_its_own_has_remote_agents_too():
    with RemoteServer([says("six")]) as server:
        agent = sailor({"endpoint": server.endpoint}, remote_call("When?"), "At six.")
        assert agent.kickoff("When is high water?").raw == "At six."


@pytest.mark.parametrize("streaming", [False, True])
def test_what_takes_too_long_is_given_up_and_the_remote_agent_told(mode: Mode, streaming: bool):
    for times in (1, 10, 40):  # on a busy machine, the time may be over before the remote agent has begun
        with RemoteServer([works()], streaming=streaming) as server:
            updates: dict[str, Any] = {}
            if not streaming:
                updates = {"updates": PollingConfig(interval=0.05, timeout=0.2 * times)}
            agent = sailor(
                A2AClientConfig(endpoint=server.endpoint, timeout=times, **updates), remote_call("When?"), "late"
            )
            assert mode.kickoff(crew(task("a", agent))).raw == "late"
            cancelled = server.asked("tasks/cancel")
        if cancelled:
            break
    assert cancelled == [{"id": "task-1"}]
    assert "more time" in last(agent)


def test_a_stream_that_breaks_off_is_followed_by_questions(mode: Mode):
    with RemoteServer([says("six")], cut=True) as server:
        agent = sailor(A2AClientConfig(endpoint=server.endpoint), remote_call("When?"), "done")
        mode.kickoff(crew(task("a", agent)))
        assert len(server.messages) == 1 and server.asked("tasks/get")
    assert last(agent) == "Observation: six"


def _response(body: bytes, status: str = "200 OK") -> list[bytes]:
    head = f"HTTP/1.0 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return [head.encode() + body]


def _result(result: bytes) -> list[bytes]:
    return _response(b'{"jsonrpc": "2.0", "id": "1", "result": ' + result + b"}")


@pytest.mark.parametrize("streaming", [False, True])
def test_an_answer_that_cannot_be_read_is_reported_to_the_model(mode: Mode, streaming: bool):
    for given, reason in (
        (_response(b"\x00\xff<html>"), "not JSON-RPC"),
        (_response(b"[" * 100_000), "not JSON-RPC"),
        (_result(b"null"), "neither a message nor a task"),
        (_result(b"[1, 2]"), "neither a message nor a task"),
        (_result(b'{"status": "done"}'), "neither a message nor a task"),
        (_result(b'{"status": {"state": "completed"}, "artifacts": [7]}'), "neither a message nor a task"),
        (_result(b'{"kind": "message", "parts": 7}'), "neither a message nor a task"),
        ([b"HTTP/1.0 200 OK\r\nContent-Length: 500\r\n\r\n{"], "cannot be reached"),
        ([], "cannot be reached"),
    ):
        with RemoteServer([says("six")], streaming=streaming, disturbed=lambda method, given=given: given) as server:
            agent = sailor(A2AClientConfig(endpoint=server.endpoint), remote_call("When?"), "Nobody knows.")
            assert mode.kickoff(crew(task("a", agent))).raw == "Nobody knows."
        assert reason in last(agent), last(agent)


@pytest.mark.parametrize("streaming", [False, True])
def test_a_poll_that_fails_is_not_the_end_of_the_task(mode: Mode, streaming: bool):
    failures = [[], _response(b"", "503 Service Unavailable"), _response(b"<html>proxy</html>")]

    def disturbed(method: str) -> list[bytes] | None:
        return failures.pop() if method == "tasks/get" and failures else None

    with RemoteServer([says("six", polls=1)], streaming=streaming, cut=True, disturbed=disturbed) as server:
        agent = sailor(polling(server), remote_call("When?"), "done")
        mode.kickoff(crew(task("a", agent)))
        assert len(server.messages) == 1 and not server.asked("tasks/cancel")
    assert (last(agent), failures) == ("Observation: six", [])


def test_a_remote_agent_that_is_not_there_ends_the_run_before_a_model_is_asked(mode: Mode):
    agent = sailor(A2AClientConfig(endpoint="http://127.0.0.1:9/.well-known/agent-card.json"), "never")
    with pytest.raises(RemoteAgentError, match="cannot be reached"):
        mode.kickoff(crew(task("a", agent)))
    assert agent.llm.requests == []


def test_a_run_continues_without_one_that_may_be_missing(mode: Mode, caplog: pytest.LogCaptureFixture):
    missing = A2AClientConfig(endpoint="http://127.0.0.1:9", fail_fast=False)
    with RemoteServer([]) as server, caplog.at_level(logging.WARNING, "crewgraph.tools"):
        agent = sailor([missing, A2AClientConfig(endpoint=server.url)], "alone")
        assert mode.kickoff(crew(task("a", agent))).raw == "alone"
    assert "works without a remote agent" in caplog.text
    assert agent.llm.requests[0].text.count("ask_harbour_office") > 0


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


def test_listeners_are_told(mode: Mode):
    with RemoteServer([asks("Which day?"), says("six")]) as server, record_events() as every:
        agent = sailor(
            A2AClientConfig(endpoint=server.endpoint), remote_call("When?"), remote_call("Monday", "1"), "done"
        )
        mode.kickoff(crew(task("a", agent)))
    events = [event for event in every if isinstance(event, A2AEventBase)]
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
    assert of[A2AStreamingChunkEvent] and of[A2AConversationStartedEvent][0].protocol_version == "0.3.0"


class Spans(BaseCallbackHandler):
    def __init__(self) -> None:
        self.names: list[str] = []

    def on_chain_start(self, serialized: Any, inputs: Any, **more: Any) -> None:
        self.names.append(str(more.get("name")))


def test_a_remote_agent_is_seen_in_the_trace():
    with RemoteServer([says("six")]) as server:
        spans = Spans()
        sailors = crew(task("a", sailor(A2AClientConfig(endpoint=server.endpoint), remote_call("When?"), "done")))
        sailors.compile().invoke({}, {"callbacks": [spans]})
    assert NAME in spans.names


def test_notifications_are_asked_for_and_waited_for(mode: Mode):
    with RemoteServer([says("six", seconds=0.05)]) as server:
        push = PushNotificationConfig.model_validate({"url": "http://127.0.0.1:9/hook", "token": "t", "interval": 0.02})
        agent = sailor(A2AClientConfig(endpoint=server.endpoint, updates=push), remote_call("When?"), "done")
        mode.kickoff(crew(task("a", agent)))
        sent = server.asked("message/send")[0]["configuration"]["pushNotificationConfig"]
    assert sent == {"url": "http://127.0.0.1:9/hook", "token": "t"} and last(agent) == "Observation: six"


class Loud:
    def inject_tools(self, agent: Any) -> None: ...

    def extract_state_from_history(self, conversation_history: Any) -> ExtensionState | None:
        return None

    def augment_prompt(self, base_prompt: str, conversation_state: Any) -> str:
        return f"{base_prompt} It shouts."

    def process_response(self, agent_response: Any, conversation_state: Any) -> Any:
        return str(agent_response).upper()

    def prepare_message_metadata(self, conversation_state: Any) -> dict[str, Any]:
        return {"volume": 11} if conversation_state is None else {"heard": conversation_state.received_events}


class MessageCount:
    def __init__(self, received_events: int) -> None:
        self.received_events = received_events

    def is_ready(self) -> bool:
        return True


class Listening(Loud):
    def extract_state_from_history(self, conversation_history: Any) -> ExtensionState | None:
        said = [(message["role"], message["parts"][0]["text"]) for message in conversation_history]
        return MessageCount(len(said)) if said[:2] == [("user", "When?"), ("agent", "Which day?")] else None


def test_extensions_have_a_say():
    with RemoteServer([says("six")]) as server:
        remote = A2AClientConfig(endpoint=server.endpoint, client_extensions=[Loud()], extensions=["urn:loud"])
        agent = sailor(remote, remote_call("When?"), "done")
        crew(task("a", agent)).kickoff()
        assert server.messages[0]["metadata"] == {"volume": 11}
        assert server.headers[-1]["X-A2A-Extensions"] == "urn:loud"
    assert "It shouts." in agent.llm.requests[0].text and last(agent) == "Observation: SIX"


def test_extensions_are_shown_the_conversation(mode: Mode):
    with RemoteServer([asks("Which day?"), says("six")]) as server:
        remote = A2AClientConfig(endpoint=server.endpoint, client_extensions=[Listening()])
        mode.kickoff(crew(task("a", sailor(remote, remote_call("When?"), remote_call("Monday", "1"), "done"))))
        assert [message["metadata"] for message in server.messages] == [{"volume": 11}, {"heard": 2}]


def test_an_agent_with_a_server_works_as_without():
    with pytest.warns(UserWarning, match="does not serve agents"):
        agent = sailor(A2AServerConfig.model_validate({"name": "Me"}), "fine")
    again = sailor(A2AServerConfig.model_validate({"name": "Me"}), "fine")  # warned once
    assert crew(task("a", agent)).kickoff().raw == crew(task("a", again)).kickoff().raw == "fine"


def test_what_is_on_record_is_not_asked_for_again(mode: Mode):
    with RemoteServer([asks("Which day?")]) as server:
        agent = sailor(A2AClientConfig(endpoint=server.endpoint), remote_call("When?"), ConnectionError("down"))
        sailors = crew(task("a", agent))
        with pytest.raises(ConnectionError, match="down"):
            mode.kickoff(sailors, thread_id="x")
    agent.llm = ScriptedLLM(["Final Answer: done"])
    assert mode.resume(sailors, "x").raw == "done"  # the remote agent is gone by now
    assert "Which day?" in last(agent)


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
def test_a_run_that_was_killed_while_it_waited_continues_with_the_same_task(
    tmp_path: Path, storage: Path, updates: str
):
    notes = tmp_path / "notes"
    served = processes.Popen([sys.executable, a2a_server.__file__, str(notes)], stdout=subprocess.PIPE, text=True)
    try:
        assert served.stdout is not None
        words = [sys.executable, "-c", RUN, served.stdout.readline().strip()]
        first = processes.Popen([*words, "first", updates])
        wait_until(lambda: is_kept(b"task-1", storage))
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
    agent = sailor(A2AClientConfig(endpoint="http://127.0.0.1:9"), "x")
    assert agent.copy().a2a.endpoint == "http://127.0.0.1:9/"
