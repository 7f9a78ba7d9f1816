"""A task without tools shows those of its agent, and uses those that the agent has when it runs."""

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.tools import tool


@tool("Look It Up")
def look_up(word: str) -> str:
    """Look a word up."""
    return word


@tool
def count(word: str) -> str:
    """Count the letters."""
    return str(len(word))


def test_a_task_without_tools_shows_those_of_its_agent():
    clerk = Agent(role="Clerk", goal="Know", backstory="Exact.", llm=ScriptedLLM([]), tools=[look_up])
    task = Task(description="Read", expected_output="A word", agent=clerk)
    assert task.tools == [look_up]
    assert task.own_tools == []
    assert "tools" not in task.model_fields_set


def test_tools_added_to_those_shown_are_the_tasks_own():
    clerk = Agent(role="Clerk", goal="Know", backstory="Exact.", llm=ScriptedLLM([]), tools=[look_up])
    task = Task(description="Read", expected_output="A word", agent=clerk)
    assert task.tools is not None
    task.tools.append(count)
    assert task.own_tools == [look_up, count]
    assert clerk.tools == [look_up]


def test_a_run_takes_the_tools_that_the_agent_has_then():
    model = ScriptedLLM(lambda _: "Final Answer: x")
    clerk = Agent(role="Clerk", goal="Know", backstory="Exact.", llm=model, tools=[look_up])
    crew = Crew(agents=[clerk], tasks=[Task(description="Read", expected_output="A word", agent=clerk)])
    crew.kickoff()
    assert "look_it_up: " in model.requests[-1].text
    clerk.tools = [count]
    crew.kickoff()
    assert "count: " in model.requests[-1].text
    assert "look_it_up: " not in model.requests[-1].text
