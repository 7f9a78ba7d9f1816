"""Secrets in snapshots: they are not stored."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from contrib.snapshots.killed import Model
from crewgraph import LLM, Agent, Crew, Task
from crewgraph.contrib.snapshots import CheckpointConfig
from crewgraph.contrib.snapshots.described import describe_definition, recreate_definition
from crewgraph.errors import DefinitionError
from crewgraph.tools import BaseTool
from crewgraph.tools.mcp.server import MCPServerHTTP, MCPServerStdio


@pytest.fixture(autouse=True)
def _in_a_place_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("contrib.snapshots.killed.PLACE", tmp_path)


class Locked(BaseTool):
    """A tool that needs a key."""

    name: str = "locked"
    description: str = "Looks."
    api_key: str

    def _run(self) -> str:
        return "x"


def again(thing: Any) -> Any:
    return recreate_definition(json.loads(json.dumps(describe_definition(thing))))


@pytest.mark.parametrize(
    ("server", "where"),
    [
        (MCPServerHTTP(url="https://a.example", headers={"X-Any": "word"}), r"`MCPServerHTTP.headers\['X-Any'\]`"),
        (MCPServerHTTP(url="https://me:word@a.example"), "`MCPServerHTTP.url`"),
        (MCPServerStdio(command="serve", args=["--token", "word"]), r"`MCPServerStdio.args\[1\]`"),
        (Locked(api_key="word"), "`Locked.api_key`"),
    ],
)
def test_a_secret_that_was_stored_nowhere_is_asked_for(server: Any, where: str):
    assert "word" not in json.dumps(describe_definition(server))
    with pytest.raises(DefinitionError, match=rf"{where} is a secret, which was not stored. Resume the run with"):
        again(server)


def test_a_class_that_finds_its_key_itself_is_restored_without():
    restored = again(Agent(role="r", goal="g", backstory="b", llm=LLM("openai/test", api_key="sk-word-123456")))
    assert (restored.llm.model, restored.llm.api_key) == ("test", None)


class Sealed(BaseTool):
    name: str = "sealed"
    description: str = "Looks."
    token: SecretStr = SecretStr("none")

    def _run(self) -> str:
        return "x"


def test_a_sealed_field_is_not_stored():
    sealed = Sealed(token=SecretStr("t0ken-sealed"))
    assert "t0ken-sealed" not in json.dumps(describe_definition(sealed))
    assert again(sealed).token.get_secret_value() == "none"


def test_a_run_continues_with_the_secrets_of_the_live_definition():
    def crew(**more: Any) -> Crew:
        clerk = Agent(
            role="Clerk", goal="g", backstory="b", llm=Model(model="m"), tools=[Locked(api_key="w0rd-of-ours")]
        )
        task = Task(name="first", description="FIRST {what}", expected_output="A word", agent=clerk)
        return Crew(name="desk", agents=[clerk], tasks=[task], **more)

    config = CheckpointConfig(location="kept")
    crew(checkpoint=config).kickoff({"what": "sea"})
    retained = [path for path in Path("kept").rglob("*") if path.is_file()]
    assert retained and all(b"w0rd-of-ours" not in path.read_bytes() for path in retained)
    with pytest.raises(DefinitionError, match="api_key` is a secret, which was not stored"):
        Crew.from_checkpoint(config)
    live = crew()
    assert live.kickoff(from_checkpoint=CheckpointConfig(restore_from="kept", location="kept")).raw


def test_prompts_with_placeholders_are_no_secrets():
    task = Task(description="Call it with api_key={api_key} and token=$TOKEN.", expected_output="e")
    assert again(task).description == "Call it with api_key={api_key} and token=$TOKEN."
