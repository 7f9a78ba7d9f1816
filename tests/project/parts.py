"""A sample project for the tests, and shortcuts to its parts."""

from typing import Any

__all__ = ["AGENTS", "CREW", "TASKS", "roles", "titles"]

AGENTS = """\
researcher:
  role: Researcher of {topic}
  goal: Find facts about {topic}
  backstory: You trust sources.
writer:
  role: Writer
  goal: Write plainly
  backstory: A former journalist.
"""

TASKS = """\
facts:
  description: Collect facts about {topic}.
  expected_output: Facts
  agent: researcher
text:
  description: Write a paragraph.
  expected_output: A paragraph
  agent: writer
  context: [facts]
"""

CREW = """
@CrewBase
class Paper:
    @agent
    def researcher(self) -> Agent:
        return Agent(config=self.agents_config["researcher"], llm=ScriptedLLM(["the moon"], repeat_last=True))

    @agent
    def writer(self) -> Agent:
        return Agent(config=self.agents_config["writer"], llm=ScriptedLLM(["the tide"], repeat_last=True))

    @task
    def facts(self) -> Task:
        return Task(config=self.tasks_config["facts"])

    @task
    def text(self) -> Task:
        return Task(config=self.tasks_config["text"])

    @crew
    def crew(self) -> Crew:
        return Crew(agents=self.agents, tasks=self.tasks)
"""


def roles(team: Any) -> list[str]:
    """The roles of the agents of a project or crew."""
    return [agent.role for agent in team.agents]


def titles(team: Any) -> list[str | None]:
    """The names of the tasks of a project or crew."""
    return [task.name for task in team.tasks]
