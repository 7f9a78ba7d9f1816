from crewai import Agent, Crew, Task

steps = []


def told(step):
    if isinstance(step, list):
        for action, observation in step:
            steps.append((action.tool, observation))
    else:
        steps.append(type(step).__name__)


def done(output):
    steps.append(output.raw)


def depth(port: str) -> str:
    """The depth of a port."""
    return f"{port} is 12 m deep"


agent = Agent(role="Clerk", goal="Know", backstory="Ten years in", llm="gpt-4o-mini", tools=[depth])
task = Task(description="How deep?", expected_output="A depth", agent=agent, callback=done)
Crew(agents=[agent], tasks=[task], step_callback=told).kickoff()
print(steps[-2:])

# > ['AgentFinish', 'the tool said: x is 12 m deep']
