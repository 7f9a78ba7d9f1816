from crewai import Agent, Crew, Task

agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in", llm="gpt-4o-mini")
by_name = {"time": str, "height": float}
schema = {"type": "object", "properties": {"time": {"type": "string"}}, "required": ["time"]}
for form in (by_name, schema, dict, True):
    task = Task(description="When?", expected_output="A time", agent=agent, output_json=form)
    print(Crew(agents=[agent], tasks=[task]).kickoff().json_dict)

# = {"time": "noon", "height": 4.5}
# = {"time": "noon"}
# = {"time": "noon"}
# = {"time": "noon"}
# > {'time': 'noon', 'height': 4.5}
# > {'time': 'noon'}
# > {'time': 'noon'}
# > {'time': 'noon'}
#! `output_json` of a task
