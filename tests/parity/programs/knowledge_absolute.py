"""A file given as a path, outside of the folder where knowledge is looked for."""

from pathlib import Path

from crewai import Agent, Crew, Task
from crewai.knowledge.source.text_file_knowledge_source import TextFileKnowledgeSource

Path("tower.txt").write_text("FACT-1 Ann keeps the tower")
source = TextFileKnowledgeSource(file_paths=[Path("tower.txt")])
clerk = Agent(role="Clerk", goal="Know", backstory="Careful.", knowledge_sources=[source])
task = Task(description="Who keeps the tower? DESC-1", expected_output="A name", agent=clerk)
result = Crew(agents=[clerk], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": ["Ann keeps the tower", "OUT-1 Ann"]}
