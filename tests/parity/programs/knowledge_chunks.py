"""How long texts are cut into pieces that overlap."""

import os

from crewai import Agent, Crew, Task
from crewai.knowledge.source.string_knowledge_source import StringKnowledgeSource
from crewai.knowledge.source.text_file_knowledge_source import TextFileKnowledgeSource

os.makedirs("knowledge", exist_ok=True)
with open("knowledge/long.txt", "w") as file:
    file.write("".join(f"w{number} " for number in range(2000)))
small = StringKnowledgeSource(content="abcdefghijklmnopqrstuvwxyz", chunk_size=10, chunk_overlap=3)
exact = StringKnowledgeSource(content="abcdefghij", chunk_size=4, chunk_overlap=1)
plain = TextFileKnowledgeSource(file_paths="long.txt")
clerk = Agent(role="Clerk", goal="Know", backstory="Careful.")
task = Task(description="Tell DESC-1", expected_output="A word", agent=clerk)
crew = Crew(agents=[clerk], tasks=[task], knowledge_sources=[small, exact, plain])
print(small.chunks == ["abcdefghij", "hijklmnopq", "opqrstuvwx", "vwxyz"])
print(exact.chunks == ["abcd", "defg", "ghij", "j"])
print([len(chunk) for chunk in plain.chunks])
os.remove("knowledge/long.txt")

script = {"DESC-1": ["OUT-1"]}
