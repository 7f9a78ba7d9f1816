"""A memory that is read only keeps nothing and says nothing."""

from crewai import Memory

memory = Memory(read_only=True)
print(memory.remember("FACT-1 the tide is six", scope="/x", categories=["sea"], importance=0.5))
print(memory.remember_many(["FACT-2 the sea is blue"]))
print(memory.recall("the tide"))

script = {}
remembered = {}
