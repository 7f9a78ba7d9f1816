"""Lists with more specific types; `make types` checks that they are accepted."""

from crewgraph import Agent, BaseAgent, Crew, Task


def test_a_crew_takes_a_list_of_agents_of_either_type():
    agents: list[Agent] = [Agent(role="Clerk", goal="Answer", backstory="Calm.")]
    others: list[BaseAgent] = [*agents]
    tasks: list[Task] = [Task(description="Answer.", expected_output="A text", agent=agents[0])]
    assert Crew(agents=agents, tasks=tasks).agents == Crew(agents=others, tasks=tasks).agents == agents
