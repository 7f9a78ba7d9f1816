"""One iteration of training."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write on {topic} DESC-1", expected_output="Text", agent=agent)
crew = Crew(agents=[agent], tasks=[task])
crew.train(n_iterations=1, filename="trained.pkl", inputs={"topic": "TOPIC-1"})
print(task.output is None, agent.role)

typed = "Shorter FEEDBACK-1\n"
script = {
    "SHORT-1": [{"json": {"suggestions": ["ADVICE-1"], "quality": 7.0, "final_summary": "SUMMARY-1"}}],
    "FEEDBACK-1": ["SHORT-1"],
    "DESC-1": ["OUT-1"],
}
