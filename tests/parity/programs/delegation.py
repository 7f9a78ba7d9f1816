"""An agent with allow_delegation asks its coworker, then answers."""

from crewai import Agent, Crew, Task

writer = Agent(role="Writer", goal="Write", backstory="Writes.", allow_delegation=True)
expert = Agent(role="Expert", goal="Know", backstory="Knows ROLE-2.", allow_delegation=False)
task = Task(description="Write on tides DESC-1", expected_output="Text", agent=writer)
result = Crew(agents=[writer, expert], tasks=[task]).kickoff()
print(result.raw)

script = {
    "DESC-1": [
        {"tool": ["ask_question_to_coworker", {"question": "why QUESTION-1", "context": "none", "coworker": "Expert"}]},
        "OUT-1",
    ],
    "QUESTION-1": ["EXPERT-1 says the moon"],
}
