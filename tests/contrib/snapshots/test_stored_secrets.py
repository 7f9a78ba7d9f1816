"""Secrets in snapshots: only the names of the environment variables that hold them are stored."""

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


def test_secrets_of_the_environment_are_named_and_read_from_it_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DESK_TOKEN", "t0ken-of-the-desk")
    monkeypatch.setenv("BROKER_PASSWORD", "pa55-of-the-broker")
    monkeypatch.setenv("DESK", "the-desks-own-word")
    server = MCPServerHTTP(
        url="https://me:pa55-of-the-broker@mcp.example/mcp",
        headers={
            "Authorization": "Bearer t0ken-of-the-desk",
            "X-Any": "t0ken-of-the-desk",
            "X-Own": "the-desks-own-word",
        },
    )
    program = MCPServerStdio(command="serve", args=["--token", "t0ken-of-the-desk"], env={"TOKEN": "t0ken-of-the-desk"})
    model = LLM("openai/test", api_key="t0ken-of-the-desk", extra_headers={"X-Desk": "t0ken-of-the-desk"})
    agent = Agent(
        role="r", goal="g", backstory="b", llm=model, mcps=[server, program], tools=[Locked(api_key="t0ken-of-the-desk")],
        embedder={"provider": "openai", "config": {"api_key": "t0ken-of-the-desk"}},
    )  # fmt: skip
    text = json.dumps(describe_definition(agent))
    assert not [word for word in ("t0ken", "pa55", "own-word") if word in text]
    for token, password in (("t0ken-of-the-desk", "pa55-of-the-broker"), ("another-t0ken", "another-pa55")):
        monkeypatch.setenv("DESK_TOKEN", token)
        monkeypatch.setenv("BROKER_PASSWORD", password)
        restored = recreate_definition(json.loads(text))
        web, local = restored.mcps
        assert web.url == f"https://me:{password}@mcp.example/mcp"
        assert web.headers == {"Authorization": f"Bearer {token}", "X-Any": token, "X-Own": "the-desks-own-word"}
        assert (local.args, local.env) == (["--token", token], {"TOKEN": token})
        assert (restored.llm.api_key, restored.llm.additional_params["extra_headers"]) == (token, {"X-Desk": token})
        assert (restored.tools[0].api_key, restored.embedder["config"]) == (token, {"api_key": token})
    monkeypatch.delenv("DESK_TOKEN")
    with pytest.raises(
        DefinitionError, match="value of the environment variable `DESK_TOKEN`, which is not set. Set it"
    ):
        recreate_definition(json.loads(text))


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


def test_a_sealed_field_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SEALED_TOKEN", "t0ken-sealed")
    assert again(Sealed(token=SecretStr("t0ken-sealed"))).token.get_secret_value() == "t0ken-sealed"


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
