"""Memories kept by Mem0: what its objects are called with, as a stand-in for its package notes it."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.errors import MissingExtra
from crewgraph.memory.kinds import ExternalMemory
from crewgraph.memory.storage import Mem0Storage

STAND_IN = '''
calls = []


class Memory:
    """The signatures of mem0ai 2."""

    @classmethod
    def from_config(cls, config_dict):
        calls.append(("from_config", config_dict))
        return cls()

    def add(self, messages, *, user_id=None, agent_id=None, run_id=None, metadata=None, infer=True):
        calls.append(("add", messages, user_id, agent_id, metadata, infer))

    def search(self, query, *, top_k=20, filters=None, threshold=0.1, rerank=False):
        calls.append(("search", query, top_k, filters, threshold))
        return {"results": [{"id": "1", "memory": "likes tea", "score": 0.8}]}

    def delete_all(self, user_id=None, agent_id=None, run_id=None):
        calls.append(("delete_all", user_id, agent_id))

    def reset(self):
        calls.append("reset")


class _Project:
    def update(self, **fields):
        calls.append(("project", fields))


class MemoryClient:
    def __init__(self, api_key=None, host=None, client=None):
        calls.append(("client", api_key))
        self.project = _Project()

    def add(self, messages, options=None, **kwargs):
        calls.append(("add", messages, kwargs))

    def search(self, query, options=None, **kwargs):
        calls.append(("search", query, kwargs))
        return [{"memory": "likes coffee"}]
'''


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    (tmp_path / "mem0.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "mem0", raising=False)
    monkeypatch.delenv("MEM0_API_KEY", raising=False)
    yield importlib.import_module("mem0").calls
    sys.modules.pop("mem0", None)


def of_mem0(**config: Any) -> ExternalMemory:
    return ExternalMemory(embedder_config={"provider": "mem0", "config": config})


def test_a_crew_keeps_its_conversations_with_mem0_and_is_reported_them(calls: list[Any]):
    model = ScriptedLLM(["the answer"])
    worker = Agent(role="Clerk", goal="g", backstory="b", llm=model)
    tasks = [Task(description="serve a drink", expected_output="e", agent=worker)]
    crew = Crew(agents=[worker], tasks=tasks, external_memory=of_mem0(user_id="john"), checkpointer=False)
    crew.kickoff()
    prompt = str(model.requests[0].messages[-1]["content"])
    assert "- likes tea" in prompt
    messages = [{"role": "user", "content": prompt}, {"role": "assistant", "content": "the answer"}]
    recorded = {"type": "external", "description": "serve a drink", "agent": "Clerk"}
    assert calls == [
        ("search", "serve a drink", 5, {"user_id": "john"}, 0.6),
        ("add", messages, "john", None, recorded, True),
    ]


def test_a_custom_memory_configuration(calls: list[Any]):
    memory = of_mem0(user_id="john", agent_id="clerk", infer=False, local_mem0_config={"vector_store": {}})
    memory.set_crew(None).save("likes tea", {"a": 1})
    assert memory.search("drinks", 2, 0.3) == [{"id": "1", "memory": "likes tea", "score": 0.8, "content": "likes tea"}]
    memory.reset()
    of_mem0().reset()
    who = {"OR": [{"user_id": "john"}, {"agent_id": "clerk"}]}
    assert calls == [
        ("from_config", {"vector_store": {}}),
        ("add", [{"role": "assistant", "content": "likes tea"}], "john", "clerk", {"type": "external", "a": 1}, False),
        ("search", "drinks", 2, who, 0.3),
        ("delete_all", "john", "clerk"),
        "reset",
    ]


def test_a_crew_makes_it_of_its_memory_config(calls: list[Any]):
    worker = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM([]))
    config = {"provider": "mem0", "config": {"user_id": "john"}}
    assert isinstance(Crew(agents=[worker], memory=True, memory_config=config).external_memory.storage, Mem0Storage)
    assert Crew(agents=[worker], memory_config=config).external_memory is None


def test_where_it_is_not_installed_the_pip_line_is_reported():
    worker = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM([]))
    with pytest.raises(MissingExtra, match=r'pip install "crewgraph\[mem0\]"'):
        Crew(agents=[worker], external_memory=of_mem0(user_id="john"))
