"""A trained crew works by what it was taught."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write DESC-1", expected_output="Text", agent=agent)
crew = Crew(agents=[agent], tasks=[task])
crew.train(n_iterations=1, filename="trained_agents_data.pkl", inputs={})
result = crew.kickoff()
print(result.raw)

typed = "Shorter FEEDBACK-1\n"
script = {
    "ADVICE-1": ["TAUGHT-1"],
    "SHORT-1": [{"json": {"suggestions": ["ADVICE-1"], "quality": 7.0, "final_summary": "SUMMARY-1"}}],
    "FEEDBACK-1": ["SHORT-1"],
    "DESC-1": ["OUT-1"],
}
