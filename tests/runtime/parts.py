"""Short ways to write crews."""

from collections.abc import Sequence
from typing import Any

from crewgraph import LLM, Agent, BaseAgent, Crew, ScriptedLLM, Task

__all__ = ["agent", "asked", "by_prompt", "crew", "served", "task"]


def agent(llm: Any, role: str = "worker", **more: Any) -> Agent:
    """An agent; a script that raises stands for a provider that is down, so the request is not made again."""
    fields: dict[str, Any] = {"goal": "g", "backstory": "b", "max_retry_limit": 0, **more}
    return Agent(role=role, llm=llm, **fields)


def task(name: str, by: BaseAgent, **more: Any) -> Task:
    fields: dict[str, Any] = {"description": f"do {name}", "expected_output": "a text", **more}
    return Task(name=name, agent=by, **fields)


def crew(*tasks: Task, **more: Any) -> Crew:
    agents = list(dict.fromkeys(one.agent for one in tasks if one.agent is not None))
    return Crew(agents=agents, tasks=list(tasks), **more)


def served(url: str, **more: Any) -> LLM:
    """A model at a server of `servers.openai_api`, through langchain-openai."""
    options: dict[str, Any] = {"max_retries": 0, **more}
    return LLM("openai/test", base_url=url, api_key="key", **options)


def by_prompt(messages: Sequence[dict[str, Any]]) -> str:
    """A script without state: answers with what stands behind "say " in the prompt."""
    return str(messages[-1]["content"]).partition("say ")[2].split("\n")[0]


def asked(llm: ScriptedLLM) -> list[str]:
    """The last message of each request."""
    return [str(request.messages[-1]["content"]) for request in llm.requests]
