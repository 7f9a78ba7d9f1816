"""A chat that led to the kickoff is told to the tasks."""

import json

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write on {topic} DESC-1", expected_output="Text", agent=agent)
said = [{"role": "user", "content": "on the moon SAID-1"}, {"role": "assistant", "content": "gladly SAID-2"}]
crew = Crew(agents=[agent], tasks=[task], chat_llm="gpt-4o")
print(sorted(crew.fetch_inputs()))
result = crew.kickoff(inputs={"topic": "TOPIC-1", "crew_chat_messages": json.dumps(said)})
print(result.raw)

script = {"DESC-1": ["OUT-1"]}
