"""Two agents, two tasks in order; the second sees what the first gave."""

from crewai import Agent, Crew, Process, Task

researcher = Agent(role="Researcher ROLE-1", goal="Find facts GOAL-1", backstory="Curious BACK-1.")
writer = Agent(role="Writer ROLE-2", goal="Write well GOAL-2", backstory="Patient BACK-2.")

research = Task(
    description="Collect facts about {topic} DESC-1", expected_output="A list of facts WANT-1", agent=researcher
)
write = Task(description="Write a post DESC-2", expected_output="A short post WANT-2", agent=writer)

crew = Crew(agents=[researcher, writer], tasks=[research, write], process=Process.sequential)

result = crew.kickoff(inputs={"topic": "tides"})
print(result.raw)
print(str(result))
print(research.output.raw)

script = {
    "DESC-1": ["FACT-1 the moon pulls"],
    "DESC-2": ["POST-1 about tides"],
}
