"""Shortcuts to create agents, tasks and crews."""

import json
from collections.abc import Sequence
from typing import Any

from crewgraph import LLM, Agent, BaseAgent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.tools import tool

__all__ = [
    "agent", "asked", "assessing", "broken", "by_prompt", "crew", "is_assessment", "served", "task",
    "using_a_broken_tool",
]  # fmt: skip


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


def assessing(answer: Any, assessment: Any = None, **more: Any) -> ScriptedLLM:
    """A model that gives the same answer (or what a function makes of the messages) to every task, and an assessment of it.

    The assessment is `suggestions`, `quality` and `entities`; none that can be read where None.
    """
    found = "no JSON" if assessment is None else json.dumps(assessment)

    def reply(messages: Sequence[dict[str, Any]]) -> Any:
        if is_assessment(messages):
            return found
        return answer(messages) if callable(answer) else answer

    return ScriptedLLM(reply, **more)


def is_assessment(messages: Sequence[dict[str, Any]]) -> bool:
    """Whether a request is the one that asks how good a result is."""
    return "a score from 0 to 10" in str(messages[0]["content"])


def by_prompt(messages: Sequence[dict[str, Any]]) -> str:
    """A stateless script: answers with the text after "say " in the prompt."""
    return str(messages[-1]["content"]).partition("say ")[2].split("\n")[0]


def asked(llm: ScriptedLLM) -> list[str]:
    """The last message of each request."""
    return [str(request.messages[-1]["content"]) for request in llm.requests]


@tool
def broken() -> str:
    """Look out."""
    raise OSError("the glass is broken")


def using_a_broken_tool(worker: BaseAgent | None = None, of_task: Any = None, **of_crew: Any) -> Crew:
    """A crew whose model uses a tool that fails, and then says `done`.

    Args:
        worker: the agent; it is given the tool and the model.
        of_task: further fields of the task.
        of_crew: further fields of the crew.
    """
    worker = worker or agent(None)
    worker.llm, worker.tools = ScriptedLLM([ToolUse("broken", {}), "done"]), [broken]
    return crew(task("one", worker, **(of_task or {})), checkpointer=False, **of_crew)
