"""Many things are remembered at once, some of them twice; some are changed, some forgotten."""

from crewai import Memory

memory = Memory()
told = {"scope": "/list", "categories": ["things"], "importance": 0.5}
memory.remember_many(["FACT-1 apples are red", "FACT-2 the sea is blue", "FACT-1 apples are red"], **told)
memory.drain_writes()
print(sorted(record.content for record in memory.list_records()))
record = next(record for record in memory.list_records() if "FACT-1" in record.content)
changed = memory.update(record.id, content="FACT-3 apples are green", importance=0.9)
print(changed.content, changed.importance, changed.id == record.id)
print([match.record.content for match in memory.recall("green apples", limit=1)])
print(memory.forget(record_ids=[record.id]), memory.forget(categories=["nothing"]))
print([record.content for record in memory.list_records()])
try:
    memory.update("nobody", content="x")
except ValueError:
    print("not there")

script = {}
remembered = {}
