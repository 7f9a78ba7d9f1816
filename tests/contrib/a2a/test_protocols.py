"""Remote agents that a2a-sdk itself serves, by the protocol's versions."""

import subprocess
import sys
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from modes import Mode
from pydantic import BaseModel
from runtime.parts import agent, asked, crew, task
from servers.a2a_sdk_server import Harbour, served_by_sdk
from servers.a2a_server import RemoteServer, says

from crewgraph import ScriptedLLM, ToolUse
from crewgraph.contrib.a2a import A2AClientConfig, PollingConfig, PushNotificationConfig, StreamingConfig
from crewgraph.errors import RemoteAgentError
from crewgraph.events.a2a import A2AConversationStartedEvent, A2AStreamingChunkEvent
from crewgraph.testing import record_events


def remote_call(message: str, conversation: str = "") -> ToolUse:
    return ToolUse("Ask Harbour Office", {"message": message, "conversation": conversation})


def waiting(streaming: bool) -> StreamingConfig | PollingConfig:
    return StreamingConfig() if streaming else PollingConfig(interval=0.02)


def sailor(remote: Any, *script: Any) -> Any:
    return agent(ScriptedLLM([*script]), "Sailor", a2a=remote)


@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.parametrize("streaming", [True, False])
def test_a_conversation_is_the_same_by_each_version(mode: Mode, version: str, streaming: bool):
    harbour = Harbour()
    with served_by_sdk(harbour, version=version, streaming=streaming) as address, record_events() as events:
        remote = A2AClientConfig(endpoint=address, updates=waiting(streaming))
        one = sailor(remote, remote_call("When?"), remote_call("Monday", "1"), "At six.")
        assert mode.kickoff(crew(task("a", one))).raw == "At six."
    assert "Which day?" in asked(one.llm)[-2]
    joint = "" if streaming else "\n"  # a task keeps streamed pieces as parts of their own
    assert asked(one.llm)[-1] == f'Observation: high water {joint}at six\n{{"hour": 6}}'
    first, second = harbour.heard
    assert (second.task_id, second.context_id) == (first.task_id, first.context_id)
    began = [event for event in events if isinstance(event, A2AConversationStartedEvent)]
    assert {event.protocol_version for event in began} == {version}
    chunks = [event.chunk for event in events if isinstance(event, A2AStreamingChunkEvent)]
    assert [chunk for chunk in chunks if "six" in chunk or "hour" in chunk] == (
        ["at six", '{"hour": 6}'] if streaming else []
    )


class Tide(BaseModel):
    hour: int


@pytest.mark.parametrize("scheme", [{"scheme": "Bearer"}, {"schemes": ["Bearer"]}])
def test_by_version_1_a_message_carries_what_is_configured(mode: Mode, scheme: dict[str, Any]):
    harbour = Harbour()
    push = PushNotificationConfig.model_validate(
        {
            "url": "http://127.0.0.1:9/hook",
            "token": "t",
            "authentication": {**scheme, "credentials": "c"},
            "interval": 0.02,
        }
    )
    with served_by_sdk(harbour) as address:
        remote = A2AClientConfig(endpoint=address, updates=push, response_model=Tide, extensions=["urn:loud"])
        one = sailor(remote, remote_call("Monday"), "At six.")
        mode.kickoff(crew(task("a", one)))
    (heard,) = harbour.heard
    assert heard.message is not None and heard.configuration is not None
    assert MessageToDict(heard.message)["parts"][0]["metadata"]["schema"]["required"] == ["hour"]
    assert heard.requested_extensions == {"urn:loud"}
    assert [*heard.configuration.accepted_output_modes] == ["application/json"]
    asked_for = heard.configuration.task_push_notification_config
    assert (asked_for.url, asked_for.token) == ("http://127.0.0.1:9/hook", "t")
    assert (asked_for.authentication.scheme, asked_for.authentication.credentials) == ("Bearer", "c")
    assert asked(one.llm)[-1] == 'Observation: {"hour":6}'


def test_a_webhook_has_one_scheme_and_its_signature_is_not_shown():
    two = {"schemes": ["Basic", "Bearer"]}
    push = PushNotificationConfig.model_validate(
        {"url": "http://127.0.0.1:9/hook", "authentication": two, "signature": "gull-and-tern-42"}
    )
    assert "gull" not in repr(push) + push.model_dump_json()
    with served_by_sdk(Harbour()) as address, pytest.raises(RemoteAgentError, match="takes one scheme, not .'Basic'"):
        crew(task("a", sailor(A2AClientConfig(endpoint=address, updates=push), "done"))).kickoff()


@pytest.mark.parametrize("streaming", [True, False])
def test_by_version_1_failures_and_late_answers_are_reported_to_the_model(mode: Mode, streaming: bool):
    harbour = Harbour()
    with served_by_sdk(harbour, streaming=streaming) as address:
        remote = A2AClientConfig(endpoint=address, timeout=1, updates=waiting(streaming))
        one = sailor(remote, remote_call("Storm"), remote_call("Forever"), "Nobody knows.")
        assert mode.kickoff(crew(task("a", one))).raw == "Nobody knows."
    assert "failed): no tides today" in asked(one.llm)[-2] and "more time" in asked(one.llm)[-1]


def test_a_card_may_say_little(mode: Mode):
    with RemoteServer([says("six")], card=dict.fromkeys(("capabilities", "description"))) as server:
        one = sailor(A2AClientConfig(endpoint=server.url), remote_call("When?"), "At six.")
        mode.kickoff(crew(task("a", one)))
        assert asked(one.llm)[-1] == "Observation: six" and server.asked("message/send")


@pytest.mark.parametrize("card", [b"[]", b"{}", b"<html>", b"[" * 100_000, b'{"name": 7}'])
def test_something_else_than_a_card_is_reported(card: bytes):
    with RemoteServer([], raw_card=card) as server, pytest.raises(RemoteAgentError, match="returned no agent card"):
        crew(task("a", sailor(A2AClientConfig(endpoint=server.endpoint), "x"))).kickoff()


def test_version_0_2_is_refused():
    with (
        RemoteServer([], card={"protocolVersion": "0.2.6"}) as server,
        pytest.raises(RemoteAgentError, match=r"protocol version 0.3 or 1.0; its card offers JSONRPC 0.2.6"),
    ):
        crew(task("a", sailor(A2AClientConfig(endpoint=server.endpoint), "x"))).kickoff()


WITHOUT = """
import sys

sys.modules["a2a"] = None
from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.contrib.a2a import A2AClientConfig

one = Agent(role="r", goal="g", backstory="b", llm=ScriptedLLM([]), a2a=A2AClientConfig(endpoint="http://127.0.0.1:9"))
Crew(agents=[one], tasks=[Task(description="d", expected_output="x", agent=one)]).kickoff()
"""


def test_without_a2a_sdk_the_pip_line_is_told_before_a_run_starts():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "MissingExtra: A remote agent needs the package" in done.stderr
    assert 'pip install "crewgraph[a2a]"' in done.stderr
