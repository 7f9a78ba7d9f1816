"""max_execution_time that is reached."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.", max_execution_time=1)
task = Task(description="One DESC-1", expected_output="Text", agent=agent)
try:
    result = Crew(agents=[agent], tasks=[task]).kickoff()
except TimeoutError as error:
    print("late", isinstance(error, TimeoutError))

script = {"DESC-1": [{"text": "OUT-1", "delay": 4}]}
