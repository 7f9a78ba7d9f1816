"""The storage of an external memory raises: the work is done all the same."""

from crewai import Agent, Crew, Task
from crewai.memory.external.external_memory import ExternalMemory
from crewai.memory.storage.interface import Storage


class Broken(Storage):
    def save(self, value, metadata=None, agent=None):
        raise RuntimeError("BROKEN-1")

    def search(self, query, limit=10, score_threshold=0.5):
        raise RuntimeError("BROKEN-2")

    def reset(self):
        raise RuntimeError("BROKEN-3")


clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.")
task = Task(description="Find the tide of Brest DESC-1", expected_output="A sentence", agent=clerk)
crew = Crew(agents=[clerk], tasks=[task], external_memory=ExternalMemory(storage=Broken()))
result = crew.kickoff()
print(result.raw)
try:
    crew.reset_memories("external")
except Exception as error:
    print(isinstance(error, RuntimeError))

script = {"DESC-1": ["OUT-1 the tide of Brest is six"]}
remembered = {}
