"""An external memory alone: nothing else is remembered."""

from crewai import Agent, Crew, Task
from crewai.memory.external.external_memory import ExternalMemory
from crewai.memory.storage.interface import Storage


class Notebook(Storage):
    def __init__(self):
        self.entries = []

    def save(self, value, metadata=None, agent=None):
        self.entries.append({"content": "NOTE-1 " + str(value)[-40:], "metadata": metadata})
        print("saved", len(self.entries), (metadata or {}).get("description"))

    def search(self, query, limit=10, score_threshold=0.5):
        print("searched", limit, score_threshold)
        return self.entries[:limit]

    def reset(self):
        self.entries = []
        print("emptied")


clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.")
writer = Agent(role="Writer", goal="Write about tides", backstory="Quick.")
find = Task(description="Find the tide of Brest DESC-1", expected_output="A sentence", agent=clerk)
write = Task(description="Write on the tide of Brest DESC-2", expected_output="A text", agent=writer)
crew = Crew(agents=[clerk, writer], tasks=[find, write], external_memory=ExternalMemory(storage=Notebook()))
result = crew.kickoff()
print(result.raw)
crew.reset_memories(command_type="external")

script = {"DESC-1": ["OUT-1 the tide of Brest is six"], "DESC-2": ["OUT-2 a text on the tide of Brest"]}
remembered = {"DESC-2": {"suggestions": ["HINT-2"]}, "DESC-1": {"suggestions": ["HINT-1"]}}
