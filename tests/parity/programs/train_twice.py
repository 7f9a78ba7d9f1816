"""Two iterations of training."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write DESC-1", expected_output="Text", agent=agent)
crew = Crew(agents=[agent], tasks=[task])
crew.train(n_iterations=2, filename="trained.pkl", inputs={})
print("trained")

typed = "Shorter FEEDBACK-1\nLonger FEEDBACK-2\n"
script = {
    "LONG-2": [{"json": {"suggestions": ["ADVICE-1"], "quality": 7.0, "final_summary": "SUMMARY-1"}}],
    "FEEDBACK-2": ["LONG-2"],
    "FEEDBACK-1": ["SHORT-1"],
    "DESC-1": ["OUT-1", "OUT-2"],
}
