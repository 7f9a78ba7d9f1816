"""The kinds of memory with storages of their own, as programs set them up."""

import os

from crewai import Agent, Crew, Process, Task
from crewai.memory import EntityMemory, LongTermMemory, ShortTermMemory
from crewai.memory.storage.ltm_sqlite_storage import LTMSQLiteStorage
from crewai.memory.storage.rag_storage import RAGStorage

place = os.path.join(os.environ["CREWAI_STORAGE_DIR"], "mine")
os.makedirs(place, exist_ok=True)
embedder = {"provider": "openai", "config": {"api_key": "key", "model_name": "text-embedding-3-small"}}
clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.")
writer = Agent(role="Writer", goal="Write about tides", backstory="Quick.")
find = Task(description="Find the tide of Brest DESC-1", expected_output="A sentence", agent=clerk)
write = Task(description="Write on the tide of Brest DESC-2", expected_output="A text", agent=writer)
crew = Crew(
    agents=[clerk, writer],
    tasks=[find, write],
    process=Process.sequential,
    memory=True,
    long_term_memory=LongTermMemory(storage=LTMSQLiteStorage(db_path=os.path.join(place, "long.db"))),
    short_term_memory=ShortTermMemory(storage=RAGStorage(embedder_config=embedder, type="short_term", path=place)),
    entity_memory=EntityMemory(storage=RAGStorage(embedder_config=embedder, type="short_term", path=place)),
    verbose=True,
)
result = crew.kickoff()
second = crew.kickoff()
print(result.raw)
print(second.raw)

script = {"DESC-1": ["OUT-1 the tide of Brest is six"], "DESC-2": ["OUT-2 a text on the tide of Brest"]}
remembered = {
    "DESC-2": {"suggestions": ["HINT-2"], "quality": 7},
    "DESC-1": {
        "suggestions": ["HINT-1"],
        "quality": 8,
        "entities": [
            {"name": "Brest", "type": "harbour", "description": "KEEPER-1 the tide of Brest", "relationships": []}
        ],
    },
}
