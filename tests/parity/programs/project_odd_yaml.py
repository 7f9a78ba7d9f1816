"""A project with odd YAML: anchors, unicode, blocks, comments, tools and models by name, a class of one's own above it."""

import os
import sys
import textwrap
from pathlib import Path

Path("cfg").mkdir()
Path("cfg/people.yaml").write_text(
    textwrap.dedent(
        """
        # people
        defaults: &defaults
          goal: &g >-
            Do it for {client}
          backstory: |
            Line "one": 'quoted' #notacomment
            Line two — ünïcode {client}
          verbose: no
        analyst:
          <<: *defaults
          role: "Analyst: {client}"
          tools: [lookup]
          max_iter: 4
          llm: gpt-4o
          allow_delegation: false
        scribe:
          role: >
            Scribe
            of things
          goal: *g
          backstory: writes 3 lines
          function_calling_llm: cheap
          cache: true
        """
    ),
    "utf-8",
)
Path("cfg/jobs.yaml").write_text(
    textwrap.dedent(
        """
        analyse:
          description: |
            Analyse {client} ANA-1
            - keep "quotes" and: colons
            - percent 100%
          expected_output: >
            bullets
          agent: analyst
          human_input: false
        write:
          description: Write it WRI-1
          expected_output: text
          agent: scribe
          context:
            - analyse
          output_file: out/{client}.md
          async_execution: false
          markdown: true
          guardrail_max_retries: 1
        """
    ),
    "utf-8",
)
Path("team.py").write_text(
    textwrap.dedent(
        '''
        from crewai import LLM, Agent, Crew, Process, Task
        from crewai.project import CrewBase, agent, before_kickoff, after_kickoff, callback, crew, llm, task, tool
        from crewai.tools import BaseTool

        class Look(BaseTool):
            name: str = "lookup"
            description: str = "Looks"
            def _run(self, what: str) -> str:
                return f"LOOK-1 {what}"

        class Base:
            greeting = "hi"
            def hello(self):
                return self.greeting

        @CrewBase
        class Team(Base):
            """The team."""
            agents_config = "cfg/people.yaml"
            tasks_config = "cfg/jobs.yaml"

            def __init__(self, client="none", *args, **kwargs):
                super(Team, self).__init__()
                self.client = client
                self.order = []

            @llm
            def cheap(self):
                return LLM(model="gpt-4o-mini")

            @tool
            def lookup(self):
                return Look()

            @before_kickoff
            def one(self, inputs):
                self.order.append("before")
                inputs = dict(inputs or {})
                inputs.setdefault("client", self.client)
                return inputs

            @after_kickoff
            def two(self, output):
                self.order.append("after")
                output.raw = output.raw + " (checked)"
                return output

            @agent
            def analyst(self) -> Agent:
                return Agent(config=self.agents_config["analyst"])

            @agent
            def scribe(self) -> Agent:
                return Agent(config=self.agents_config["scribe"], goal="own goal for {client}")

            @task
            def analyse(self) -> Task:
                return Task(config=self.tasks_config["analyse"])

            @task
            def write(self) -> Task:
                return Task(config=self.tasks_config["write"])

            @crew
            def crew(self, **kwargs) -> Crew:
                return Crew(agents=self.agents, tasks=self.tasks, process=Process.sequential, verbose=False, **kwargs)
        '''
    )
)
sys.path.insert(0, os.getcwd())
from team import Team  # noqa: E402

team = Team("Ada & Co")
print(team.hello(), team.client, type(team).__name__, isinstance(team, Team), team.agents_config["analyst"]["max_iter"])
print(sorted(team.agents_config), sorted(team.tasks_config["write"]))
a = team.analyst()
print(a.role, a.tools[0].name, a.verbose, a is team.analyst(), team.write() is team.write())
print(repr(team.scribe().role), team.scribe().goal, a.backstory.splitlines())
crew = team.crew()
print(crew is team.crew(), [x.role for x in crew.agents], [t.name for t in crew.tasks])
result = crew.kickoff(inputs={"client": "Zoé"})
print(result.raw, team.order)
print(crew.tasks[0].description, [p.as_posix() for p in Path("out").iterdir()])
second = Team("Bo").crew().kickoff()
print(second.raw)
results = [r.raw for r in Team("x").crew().kickoff_for_each([{"client": "c1"}, {"client": "c2"}])]
print(results)

script = {"WRI-1": ["REPORT-1"], "ANA-1": [{"tool": ["lookup", {"what": "it"}]}, "BULLETS-1"]}
