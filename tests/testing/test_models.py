"""Model requests in tests: forbidden, recorded to a file, answered from it."""

import asyncio
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_openai import ChatOpenAI
from modes import Mode
from servers.openai_api import OpenAIServer, Script, call, error

from crewgraph import LLM, Agent, BaseLLM, Crew, Task
from crewgraph.errors import ModelError
from crewgraph.testing import (
    ModelRequestForbidden,
    RecordingMismatch,
    ScriptedLLM,
    forbid_model_requests,
    record_models,
)
from crewgraph.tools import tool

Serve = Callable[[Script | None], OpenAIServer]


@tool
def sounding(place: str) -> str:
    """Sound the depth."""
    return f"7 m at {place}"


def crew_of(llm: Any, question: str = "How deep?") -> Crew:
    agent = Agent(role="Surveyor", goal="Measure", backstory="Careful.", llm=llm, tools=[sounding])
    return Crew(agents=[agent], tasks=[Task(description=question, expected_output="A depth", agent=agent)])


def llm_at(server: OpenAIServer | None) -> LLM:
    url = "http://127.0.0.1:9/v1" if server is None else server.url  # nobody listens on the port `discard`
    return LLM("openai/test", base_url=url, api_key="k", max_retries=0)


SCRIPT = [call("sounding", {"place": "Brest"}), "Final Answer: 7 m"]


def test_a_recording_answers_without_a_server(serve: Serve, mode: Mode, tmp_path: Path):
    path, server = tmp_path / "deep" / "crew.json", serve(SCRIPT)
    with record_models(path) as recording:
        assert mode.kickoff(crew_of(llm_at(server))).raw == "7 m"
    assert (recording.replays, len(recording.calls), len(server.requests)) == (False, 2, 2)
    with record_models(path) as recording, forbid_model_requests():
        result = mode.kickoff(crew_of(llm_at(None)))
    assert (result.raw, recording.replays, recording.unused) == ("7 m", True, [])
    assert result.token_usage.successful_requests == 2
    document = json.loads(path.read_text())
    assert [sorted(one) for one in document["calls"]] == [["messages", "model", "reply", "stop", "tools"]] * 2
    assert document["calls"][0]["reply"]["tool_calls"][0]["args"] == {"place": "Brest"}


def test_a_langchain_model_and_a_model_of_the_programs_own_are_recorded(serve: Serve, mode: Mode, tmp_path: Path):
    class Own(BaseLLM):
        asked = 0

        def call(self, messages: Any, *args: Any, **more: Any) -> str:
            self.asked += 1
            return "Final Answer: own"

    own = Own("own")
    settings: dict[str, Any] = {"api_key": "k", "max_retries": 0, "base_url": serve(["Final Answer: 7 m"]).url}
    models: list[Any] = [ChatOpenAI(model="test", **settings), own]
    for model, expected in zip(models, ("7 m", "own"), strict=True):
        path = tmp_path / f"{expected}.json"
        for _ in range(2):
            with record_models(path):
                assert mode.kickoff(crew_of(model)).raw == expected
    assert own.asked == 1


def test_equal_requests_are_answered_in_the_order_of_their_replies(serve: Serve, tmp_path: Path):
    path = tmp_path / "calls.json"
    for server in (serve(["one", "two"]), None):
        with record_models(path):
            llm = llm_at(server)
            assert [llm.call("Which?"), asyncio.run(llm.acall("Which?"))] == ["one", "two"]


def test_a_request_that_was_not_recorded_is_reported_with_what_differs(serve: Serve, mode: Mode, tmp_path: Path):
    path = tmp_path / "crew.json"
    with record_models(path):
        mode.kickoff(crew_of(llm_at(serve(["Final Answer: 7 m"])), "How deep is it at Brest?"))
    with record_models(path) as recording, pytest.raises(RecordingMismatch) as caught:
        mode.kickoff(crew_of(llm_at(None), "How deep is it at Cork?"))
    assert "CREWGRAPH_RECORD=record" in str(caught.value)
    assert "-user: " in str(caught.value) or "How deep is it at Brest?" in str(caught.value)
    assert "How deep is it at Cork?" in str(caught.value)
    assert len(recording.unused) == 1
    with record_models(path), pytest.raises(RecordingMismatch, match="all 1 are used"):
        for _ in range(2):
            mode.kickoff(crew_of(llm_at(None), "How deep is it at Brest?"))


def test_what_differs_from_run_to_run_can_be_left_out(serve: Serve, mode: Mode, tmp_path: Path):
    path = tmp_path / "crew.json"
    for number, server in enumerate((serve(["Final Answer: 7 m"]), None)):
        with record_models(path, normalize=partial(re.sub, r"visit \d+", "visit")):
            assert mode.kickoff(crew_of(llm_at(server), f"How deep on visit {number}?")).raw == "7 m"


def test_the_mode_says_whether_requests_are_sent(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, server = tmp_path / "calls.json", serve(["one", "two", "three"])
    with pytest.raises(FileNotFoundError, match="run the test once"), record_models(path, "replay"):
        pass
    for expected in ("one", "two"):
        with record_models(path, "record"):
            assert llm_at(server).call("Which?") == expected
    with record_models(path, "replay"):
        assert llm_at(None).call("Which?") == "two"
    monkeypatch.setenv("CREWGRAPH_RECORD", "record")
    with record_models(path, "replay"):
        assert llm_at(server).call("Which?") == "three"
    monkeypatch.setenv("CREWGRAPH_RECORD", "sometimes")
    with pytest.raises(ValueError, match="no mode 'sometimes'"), record_models(path):
        pass


def test_a_file_that_is_no_recording_is_reported(tmp_path: Path):
    for text in ("{", "[]", '{"version": 2, "calls": []}'):
        (tmp_path / "calls.json").write_text(text)
        with pytest.raises(ValueError, match="is not a recording"), record_models(tmp_path / "calls.json"):
            pass


def test_what_failed_is_not_recorded_and_what_came_before_is(serve: Serve, tmp_path: Path):
    path = tmp_path / "calls.json"
    llm = llm_at(serve(["one", error(400)]))
    with pytest.raises(Exception, match="400"), record_models(path):
        llm.call("Which?")
        llm.call("Which?")
    assert [one["reply"]["content"] for one in json.loads(path.read_text())["calls"]] == ["one"]


def test_no_request_leaves_where_requests_are_forbidden(serve: Serve, mode: Mode):
    server = serve(["Final Answer: 7 m"])
    settings: dict[str, Any] = {"base_url": server.url, "api_key": "k", "max_retries": 0}
    with forbid_model_requests():
        for model in (llm_at(server), ChatOpenAI(model="test", **settings)):
            with pytest.raises(ModelRequestForbidden, match="a request to the model `test` was about to be sent"):
                mode.kickoff(crew_of(model))
        with pytest.raises(ModelError, match="forbid_model_requests"):
            llm_at(server).call("Which?")
        assert mode.kickoff(crew_of(ScriptedLLM(["Final Answer: 8 m"]))).raw == "8 m"
        assert mode.kickoff(crew_of(FakeListChatModel(responses=["Final Answer: 9 m"]))).raw == "9 m"
    assert server.requests == []
    assert mode.kickoff(crew_of(llm_at(server))).raw == "7 m"


def test_a_script_is_not_recorded(mode: Mode, tmp_path: Path):
    for number in range(2):
        with record_models(tmp_path / "calls.json"):
            assert mode.kickoff(crew_of(ScriptedLLM([f"Final Answer: {number}"]))).raw == str(number)
    assert not (tmp_path / "calls.json").exists()
