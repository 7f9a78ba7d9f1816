from crewai import Agent, Crew, Process, Task
from crewai.project import CrewBase, agent, crew, task
from old_crew.tools.custom_tool import DepthTool

# Uncomment the following line to use an example of a custom tool
# from crewai_tools import SerperDevTool


@CrewBase
class OldCrew():
	"""The crew"""
	agents_config = 'config/agents.yaml'
	tasks_config = 'config/tasks.yaml'

	@agent
	def watcher(self) -> Agent:
		return Agent(
			config=self.agents_config['watcher'],
			tools=[DepthTool()], # Example of custom tool, loaded on the beginning of file
			verbose=True
		)

	@agent
	def writer(self) -> Agent:
		return Agent(config=self.agents_config['writer'])

	@task
	def watch(self) -> Task:
		return Task(config=self.tasks_config['watch'], max_retries=2)

	@task
	def write(self) -> Task:
		return Task(config=self.tasks_config['write'])

	@crew
	def crew(self) -> Crew:
		return Crew(
			agents=self.agents, # Automatically created by the @agent decorator
			tasks=self.tasks,
			process=Process.sequential,
			verbose=2,
			full_output=False
		)
