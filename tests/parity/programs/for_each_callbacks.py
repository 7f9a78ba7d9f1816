"""kickoff_for_each with callbacks of the crew and of its task."""

from crewai import Agent, Crew, Task

told = []
agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(
    description="On {topic}", expected_output="Text", agent=agent, callback=lambda output: told.append(output.raw)
)
crew = Crew(
    agents=[agent],
    tasks=[task],
    before_kickoff_callbacks=[lambda inputs: told.append(inputs["topic"]) or inputs],
    after_kickoff_callbacks=[lambda output: told.append("after") or output],
)
results = crew.kickoff_for_each(inputs=[{"topic": "TOPIC-1"}, {"topic": "TOPIC-2"}])
print(told)

script = {"TOPIC-1": ["OUT-1"], "TOPIC-2": ["OUT-2"]}
