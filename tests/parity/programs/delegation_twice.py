"""The same question to the same coworker, twice."""

from crewai import Agent, Crew, Task

writer = Agent(role="Writer", goal="Write", backstory="Writes.", allow_delegation=True)
expert = Agent(role="Expert", goal="Know", backstory="Knows.")
task = Task(description="Write DESC-1", expected_output="Text", agent=writer)
result = Crew(agents=[writer, expert], tasks=[task]).kickoff()
print(result.raw)

script = {
    "DESC-1": [
        {"tool": ["ask_question_to_coworker", {"question": "QUESTION-1", "context": "", "coworker": "Expert"}]},
        {"tool": ["ask_question_to_coworker", {"question": "QUESTION-1", "context": "", "coworker": "Expert"}]},
        "OUT-1",
    ],
    "QUESTION-1": ["FACT-1", "FACT-2"],
}
