"""The manager writes the coworker in quotes and in another case."""

from crewai import Agent, Crew, Process, Task

writer = Agent(role="Senior Writer", goal="Write", backstory="Writes.")
task = Task(description="Write DESC-1", expected_output="Text")
crew = Crew(agents=[writer], tasks=[task], process=Process.hierarchical, manager_llm="gpt-4o")
result = crew.kickoff()
print(result.raw)

script = {
    "DESC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "", "coworker": '"senior WRITER"'}]},
        {"tool": ["ask_question_to_coworker", {"question": "WORK-2", "context": "", "coworker": " senior  writer\n"}]},
        "OUT-1",
    ],
    "WORK-2": ["TEXT-2"],
    "WORK-1": ["TEXT-1"],
}
