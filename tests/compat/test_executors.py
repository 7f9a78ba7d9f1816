import asyncio
from typing import Any

import pytest
from crewgraph_compat.stand_ins.executor import CrewAgentExecutor
from modes import Mode
from pydantic import BaseModel

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.errors import RunError
from crewgraph.tools import tool

WISH = 'Thought: sum\nAction: add\nAction Input: {"a": 1, "b": 2}'
INPUTS = {"input": "1 and 2", "tools": "add: adds", "tool_names": "add"}
calls: list[tuple[int, int]] = []


@tool("add")
def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    calls.append((a, b))
    return a + b


class Sum(BaseModel):
    sum: int


@pytest.fixture(autouse=True)
def no_calls():
    calls.clear()


def made(*answers: str, **more: Any) -> CrewAgentExecutor:
    llm = ScriptedLLM(list(answers), native_tools=False)
    agent = Agent(role="Clerk", goal="Know", backstory="Careful.", llm=llm)
    task = Task(description="The sum?", expected_output="A number", agent=agent)
    crew = Crew(agents=[agent], tasks=[task])
    prompt = {"prompt": "Sum {input} with {tools} [{tool_names}]"}
    given = {"prompt": prompt, "tools": [add.to_structured_tool()], "max_iter": 5, **more}
    return CrewAgentExecutor(llm=llm, task=task, crew=crew, agent=agent, **given)


def run(executor: CrewAgentExecutor, mode: Mode, inputs: dict[str, Any] = INPUTS) -> Any:
    return asyncio.run(executor.ainvoke(inputs)) if mode.asynchronous else executor.invoke(inputs)


def test_an_executor_uses_tools_until_it_has_the_answer(mode: Mode):
    steps: list[Any] = []
    executor = made(WISH, "Thought: done\nFinal Answer: three", step_callback=steps.append)
    assert run(executor, mode) == {"output": "three"}
    assert calls == [(1, 2)]
    assert [type(step).__name__ for step in steps] == ["AgentAction", "AgentFinish"]
    assert executor.messages[0] == {"role": "user", "content": "Sum 1 and 2 with add: adds [add]"}
    assert executor.messages[2]["content"] == "Observation: 3"
    assert executor.iterations == 2


def test_an_executor_distinguishes_its_system_message():
    executor = made("Final Answer: ok", prompt={"system": "S {tools}", "user": "U {input}"})
    executor.invoke(INPUTS)
    assert [(one["role"], one["content"]) for one in executor.messages[:2]] == [
        ("system", "S add: adds"),
        ("user", "U 1 and 2"),
    ]
    assert executor.iterations == 1


def test_an_executor_gives_its_answer_a_structure():
    assert made('{"sum": 3}', response_model=Sum).invoke(INPUTS) == {"output": Sum(sum=3)}


def test_an_executor_asks_a_person(monkeypatch: pytest.MonkeyPatch):
    said = iter(["in words", ""])

    def answered(_: str) -> str:
        return next(said)

    monkeypatch.setattr("builtins.input", answered)
    executor = made("Final Answer: 3", "Final Answer: three")
    assert executor.invoke({**INPUTS, "ask_for_human_input": True}) == {"output": "three"}
    assert executor.ask_for_human_input


def test_an_executor_is_made_by_position_as_older_programs_do():
    agent = Agent(role="Clerk", goal="Know", backstory="Careful.", llm=ScriptedLLM(["x"]))
    task = Task(description="d", expected_output="e", agent=agent)
    llm = ScriptedLLM(["Final Answer: ok"])
    executor = CrewAgentExecutor(llm, task, None, agent, {"prompt": "{input}"}, 3, [], "", [], "", None)
    assert executor.invoke({"input": "?"}) == {"output": "ok"}
    with pytest.raises(RunError, match="pass `agent=`"):
        CrewAgentExecutor(llm=llm).invoke({"input": "?"})


def test_an_executor_calls_its_own_hooks_and_tells_what_came_of_its_call():
    asked: list[str] = []
    executor = made("the depth")

    def before(context: Any) -> None:
        asked.append(str(context.messages[-1]["content"]))

    executor.before_llm_call_hooks.append(before)

    def after(context: Any) -> str:
        return f"{context.response} is 3"

    executor.after_llm_call_hooks.append(after)
    assert executor.invoke(INPUTS) == {"output": "the depth is 3"}
    assert (len(asked), executor.iterations) == (1, 1)
