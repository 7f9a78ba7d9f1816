"""Training that cannot be: no iterations, another kind of file."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write DESC-1", expected_output="Text", agent=agent)
crew = Crew(agents=[agent], tasks=[task])
for n, name in ((0, "trained.pkl"), (-1, "trained.pkl")):
    try:
        crew.train(n_iterations=n, filename=name, inputs={})
        print("done")
    except Exception:
        print("refused")

script = {"DESC-1": ["OUT-1"]}
