"""The manager asks one coworker and hands the work to another."""

from crewai import Agent, Crew, Process, Task

expert = Agent(role="Expert", goal="Know", backstory="Knows ROLE-1.")
writer = Agent(role="Writer", goal="Write", backstory="Writes ROLE-2.")
task = Task(description="Write DESC-1", expected_output="Text")
crew = Crew(agents=[expert, writer], tasks=[task], process=Process.hierarchical, manager_llm="gpt-4o")
result = crew.kickoff()
print(result.raw)

script = {
    "DESC-1": [
        {"tool": ["ask_question_to_coworker", {"question": "QUESTION-1", "context": "", "coworker": "Expert"}]},
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "FACT-1", "coworker": "Writer"}]},
        "OUT-1",
    ],
    "WORK-1": ["TEXT-1"],
    "QUESTION-1": ["FACT-1"],
}
