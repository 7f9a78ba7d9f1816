"""What is private is recalled by who saved it alone."""

from crewai import Memory

memory = Memory()
told = {"scope": "/people", "categories": ["staff"], "importance": 0.5}
memory.remember("FACT-1 Ann is ill", source="ann", private=True, **told)
memory.remember("FACT-2 Ann keeps the tower", source="bob", **told)
for given in ({}, {"source": "ann"}, {"source": "bob"}, {"include_private": True}):
    print(sorted(given), sorted(match.record.content for match in memory.recall("Ann", **given)))

script = {}
remembered = {}
