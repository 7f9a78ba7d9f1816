"""Memory on its own: remember, recall, forget."""

from crewai import Memory

memory = Memory()
record = memory.remember("FACT-1 the tide of Brest is six metres")
print(record.content, record.scope, record.categories, record.importance, record.metadata)
record = memory.remember(
    "FACT-2 apples are red", scope="/market", categories=["fruit"], importance=0.9, metadata={"seen": 1}
)
print(record.content, record.scope, record.categories, record.importance, record.metadata, record.private)
print([match.record.content for match in memory.recall("the tide of Brest", limit=1)])
print([match.record.content for match in memory.recall("red apples", limit=1, depth="shallow")])
matches = memory.recall("the tide of Brest")
print(
    len(matches),
    all(0 <= match.score <= 1 for match in matches),
    sorted(matches[0].match_reasons) == ["importance", "recency", "semantic"],
)
print(memory.forget(scope="/market"), [match.record.content for match in memory.recall("red apples")])
memory.reset()
print(memory.recall("the tide of Brest"))

script = {}
remembered = {
    "FACT-1": {
        "suggested_scope": "/tides/brest",
        "categories": ["sea"],
        "importance": 0.8,
        "extracted_metadata": {"entities": ["Brest"], "dates": [], "topics": ["tide"]},
    }
}
