"""A long-term memory used by hand: results of tasks, and how good they were."""

import os

from crewai.memory.long_term.long_term_memory import LongTermMemory
from crewai.memory.long_term.long_term_memory_item import LongTermMemoryItem
from crewai.memory.storage.ltm_sqlite_storage import LTMSQLiteStorage

place = os.environ["CREWAI_STORAGE_DIR"]
os.makedirs(place, exist_ok=True)
memory = LongTermMemory(storage=LTMSQLiteStorage(db_path=os.path.join(place, "long.db")))
for number, quality in enumerate((5, 9, 7)):
    memory.save(
        LongTermMemoryItem(
            agent="Clerk",
            task="Find the tide DESC-1",
            expected_output="A sentence",
            datetime=f"2025-01-0{number + 1}",
            quality=quality,
            metadata={"suggestions": [f"HINT-{number}"], "quality": quality},
        )
    )
found = memory.search("Find the tide DESC-1", latest_n=2)
print([(entry["metadata"]["suggestions"], entry["score"], entry["datetime"]) for entry in found])
print({"suggestions", "quality"} <= set(found[0]["metadata"]))
print(memory.search("Another task DESC-2") or "nothing")
memory.reset()
print(memory.search("Find the tide DESC-1") or "nothing")

script = {}
