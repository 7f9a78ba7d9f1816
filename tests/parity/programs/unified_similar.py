"""Something that is known already is remembered again: the model says what becomes of both."""

from crewai import Memory

memory = Memory()
told = {"scope": "/tides", "categories": ["sea"], "importance": 0.5}
memory.remember("FACT-1 the tide of Brest is six metres high", **told)
memory.remember("FACT-1 the tide of Brest is six metres high", **told)
print(len(memory.list_records()))

script = {}
remembered = {"FACT-1": {"actions": [], "insert_new": False, "insert_reason": "known"}}
