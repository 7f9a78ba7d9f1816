"""What a program can read from agents, tasks and crews before it runs them."""

from crewai import Agent, Crew, Process, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="One", expected_output="Text", agent=agent)
crew = Crew(agents=[agent], tasks=[task])
print(agent.role, agent.goal, agent.backstory, agent.max_iter, agent.verbose, agent.allow_delegation, agent.tools)
print(agent.max_retry_limit, agent.cache, agent.max_rpm, agent.use_system_prompt, agent.respect_context_window)
print(task.description, task.expected_output, task.async_execution, task.human_input, task.output, task.tools)
print(task.guardrail, task.callback, task.output_file, task.markdown, task.name, task.retry_count)
print(crew.process is Process.sequential, crew.verbose, crew.memory, crew.cache, crew.planning, crew.name)
print(len(str(agent.id)), len(str(task.id)), len(str(crew.id)), task.agent is agent, crew.tasks[0] is task)
print(agent.key == Agent(role="Writer", goal="Write", backstory="Writes.").key, len(task.key), len(crew.key))
print(crew.usage_metrics, crew.max_rpm, crew.share_crew, crew.step_callback)

script = {}
