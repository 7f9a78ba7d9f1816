"""An entity memory used by hand."""

from crewai.memory.entity.entity_memory import EntityMemory
from crewai.memory.entity.entity_memory_item import EntityMemoryItem

memory = EntityMemory()
memory.save(
    EntityMemoryItem(name="Ann", type="person", description="KEEPER-1 of the tower", relationships="lives in Brest")
)
memory.save(
    [
        EntityMemoryItem(name="Bob", type="person", description="COOK-1 of the ship", relationships=""),
        EntityMemoryItem(name="Cadiz", type="harbour", description="PLACE-1 in Spain", relationships=""),
    ]
)
print([entry["content"] for entry in memory.search("Ann keeper-1 of the tower", limit=1, score_threshold=0.1)])
print(
    [
        entry["metadata"]["relationships"]
        for entry in memory.search("Ann keeper-1 of the tower", limit=1, score_threshold=0.1)
    ]
)
print(len(memory.search("person", limit=10, score_threshold=0.0)))
memory.reset()
print(memory.search("person", score_threshold=0.0))

script = {}
