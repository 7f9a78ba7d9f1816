"""An agent asks a coworker that there is not."""

from crewai import Agent, Crew, Task

writer = Agent(role="Writer", goal="Write", backstory="Writes.", allow_delegation=True)
finder = Agent(role="Finder", goal="Find", backstory="Finds.")
task = Task(description="Write DESC-1", expected_output="Text", agent=writer)
result = Crew(agents=[writer, finder], tasks=[task]).kickoff()
print(result.raw)

script = {
    "DESC-1": [
        {"tool": ["ask_question_to_coworker", {"question": "QUESTION-1", "context": "", "coworker": "Writer"}]},
        "OUT-1",
    ],
    "QUESTION-1": ["FACT-1"],
}
