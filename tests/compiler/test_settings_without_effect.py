"""Settings without effect are accepted with one warning."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from compiler.body_runner import agent, task

from crewgraph import Agent, Crew
from crewgraph.compiler import preflight
from crewgraph.compiler.preflight import WithoutEffect

DIFFERENCES = Path(__file__).parent.parent.parent / "docs" / "differences.md"


@pytest.fixture(autouse=True)
def anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(preflight, "_warned", set[tuple[str, str]]())
    yield


def crew(worker: Agent | None = None, **more: Any) -> Crew:
    worker = worker or agent("x")
    return Crew(agents=[worker], tasks=[task(worker)], **more)


CREW: dict[str, Any] = {
    "share_crew": True,
    "tracing": True,
    "task_execution_output_json_files": ["a.json"],
    "embedder": {"provider": "openai"},
    "manager_llm": "openai/gpt-4o",
    "manager_agent": Agent(role="boss", goal="g", backstory="b"),
}
AGENT: dict[str, Any] = {
    "embedder": {"provider": "openai"}, "knowledge_config": {"results_limit": 2}, "knowledge_storage": "kept",
    "max_tokens": 10, "callbacks": [print], "code_execution_mode": "unsafe", "guardrail": "It is short.",
}  # fmt: skip


@pytest.mark.parametrize("name", CREW)
def test_a_crew_keyword_without_effect_causes_a_warning(name: str):
    with pytest.warns(WithoutEffect, match=f"accepted, but without effect: `{name}` of `Crew` "):
        assert crew(**{name: CREW[name]}).kickoff(checkpointer=False).raw == "x"


@pytest.mark.parametrize("name", AGENT)
def test_an_agent_keyword_without_effect_causes_a_warning(name: str):
    with pytest.warns(WithoutEffect, match=f"without effect: `{name}` of `Agent` "):
        crew(agent("x", **{name: AGENT[name]})).compile()


def test_several_share_a_warning_and_each_is_named_once_per_process():
    with pytest.warns(WithoutEffect) as caught:
        crew(agent("x", embedder={}), share_crew=True, tracing=True).compile()
    assert len(caught) == 1 and caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        crew(agent("x", embedder={}), share_crew=True, tracing=True).compile()


def test_the_defaults_cause_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        crew(share_crew=False, tracing=False, embedder=None).compile()


def test_the_documentation_lists_them_all():
    section = DIFFERENCES.read_text("utf-8").partition("## Accepted, without effect")[2].partition("\n## ")[0]
    assert [name for name in {**CREW, **AGENT} if f"`{name}`" not in section and f"`Agent.{name}`" not in section] == []
