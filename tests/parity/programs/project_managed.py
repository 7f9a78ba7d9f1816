"""A hierarchical project: YAML, a manager of one's own, coworkers with tools, a structured end, callbacks into files."""

import os
import sys
import textwrap
from pathlib import Path

for name, text in {
    "config/agents.yaml": """
        boss:
          role: "  Boss of all  "
          goal: >
            Manage
          backstory: >
            Manages.
          allow_delegation: true
        digger:
          role: Digger
          goal: Dig
          backstory: |
            Digs {depth} metres.
            Every day.
          max_iter: 3
          verbose: false
        painter:
          role: Painter
          goal: Paint
          backstory: Paints
        """,
    "config/tasks.yaml": """
        dig:
          description: "Dig in {place} DESC-1"
          expected_output: a hole
        paint:
          description: "Paint it DESC-2"
          expected_output: a wall
          context: [dig]
          output_file: "out/{place}.txt"
        """,
}.items():
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(textwrap.dedent(text))

Path("yard.py").write_text('''
from crewai import Agent, Crew, Process, Task
from crewai.project import CrewBase, agent, crew, task
from crewai.tools import tool


@tool("spade")
def spade(depth: int) -> str:
    """Digs."""
    return f"HOLE-1 of {depth}"


@CrewBase
class Yard:
    agents_config = "config/agents.yaml"
    tasks_config = "config/tasks.yaml"

    def boss(self):
        return Agent(config=self.agents_config["boss"])

    @agent
    def digger(self):
        return Agent(config=self.agents_config["digger"], tools=[spade])

    @agent
    def painter(self):
        return Agent(config=self.agents_config["painter"])

    @task
    def dig(self):
        return Task(config=self.tasks_config["dig"])

    @task
    def paint(self):
        return Task(config=self.tasks_config["paint"])

    @crew
    def crew(self):
        return Crew(
            agents=self.agents,
            tasks=self.tasks,
            process=Process.hierarchical,
            manager_agent=self.boss(),
            task_callback=lambda o: print("done", o.agent.strip(), o.raw),
        )
''')
sys.path.insert(0, os.getcwd())
from yard import Yard  # noqa: E402

crew = Yard().crew()
result = crew.kickoff(inputs={"place": "Brest", "depth": 3})
print(result.raw, [o.agent.strip() for o in result.tasks_output])
print(
    crew.manager_agent.role.strip()[:4],
    [t.delegations for t in crew.tasks],
    [sorted(t.processed_by_agents) for t in crew.tasks],
)
print(crew.usage_metrics.successful_requests, crew.process == "hierarchical")

script = {
    "Handed HAND-1": [{"tool": ["spade", {"depth": 3}]}, "DUG-1"],
    "Handed HAND-2": ["PAINTED-1"],
    "DESC-1": [
        {"tool": ["Delegate work to coworker", {"task": "Handed HAND-1", "context": "ctx", "coworker": "Digger"}]},
        "DONE-1",
    ],
    "DESC-2": [
        {"tool": ["Ask question to coworker", {"question": "Handed HAND-2", "context": "ctx", "coworker": "Painter"}]},
        "DONE-2",
    ],
}
