"""A recall with a long question is worded by the model first."""

from crewai import Memory

memory = Memory()
told = {"scope": "/tides", "categories": ["sea"], "importance": 0.5}
memory.remember("FACT-1 the tide of Brest is six", **told)
memory.remember("FACT-2 apples are red", **told)
question = "I have been asked ASK-1 by somebody at the harbour, whose name I forgot, and who was in a hurry, " * 3
print([match.record.content for match in memory.recall(question, limit=1)])
print([match.record.content for match in memory.recall(question, limit=1, depth="shallow") if match.score > 1])

script = {}
remembered = {"ASK-1": {"recall_queries": ["the tide of Brest"], "suggested_scopes": ["/tides"]}}
