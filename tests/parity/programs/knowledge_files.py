"""Knowledge in files of all plain kinds, in the folder where it is looked for."""

import os

from crewai import Agent, Crew, Task
from crewai.knowledge.knowledge_config import KnowledgeConfig
from crewai.knowledge.source.csv_knowledge_source import CSVKnowledgeSource
from crewai.knowledge.source.json_knowledge_source import JSONKnowledgeSource
from crewai.knowledge.source.text_file_knowledge_source import TextFileKnowledgeSource

os.makedirs("knowledge/more", exist_ok=True)
with open("knowledge/tower.txt", "w") as file:
    file.write("FACT-1 Ann keeps the tower")
with open("knowledge/more/sea.txt", "w") as file:
    file.write("FACT-2 the sea is blue")
with open("knowledge/tides.csv", "w") as file:
    file.write("harbour,metres\nBrest FACT-3,6\nCadiz,3\n")
with open("knowledge/staff.json", "w") as file:
    file.write('{"people": {"Bob": "FACT-4 cooks"}, "count": [1, 2]}')
text = TextFileKnowledgeSource(file_paths=["tower.txt", "more/sea.txt"])
table = CSVKnowledgeSource(file_paths=["tides.csv"])
staff = JSONKnowledgeSource(file_paths=["staff.json"])
print(list(text.content.values()), text.chunk_size, text.chunk_overlap)
nearest = KnowledgeConfig(results_limit=1, score_threshold=0.3)
clerk = Agent(role="Clerk", goal="Know", backstory="Careful.", knowledge_config=nearest)
tasks = [
    Task(description="Ann and the tower DESC-1", expected_output="Text", agent=clerk),
    Task(description="The metres of Brest DESC-2", expected_output="Text", agent=clerk, context=[]),
    Task(description="What Bob does DESC-3", expected_output="Text", agent=clerk, context=[]),
]
crew = Crew(agents=[clerk], tasks=tasks, knowledge_sources=[text, table, staff])
result = crew.kickoff()
print([output.raw for output in result.tasks_output])

script = {
    "DESC-1": ["FACT-1 Ann keeps the tower", "OUT-1"],
    "DESC-2": ["Brest FACT-3", "OUT-2"],
    "DESC-3": ["FACT-4 cooks", "OUT-3"],
}
