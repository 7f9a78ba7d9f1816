"""A flow that is run again knows what an earlier run remembered; its memory is one of its own."""

from crewai import Memory
from crewai.flow.flow import Flow, start


class Diary(Flow):
    memory = Memory()

    @start()
    def write(self):
        known = [match.record.content for match in self.recall("the tide", limit=3)]
        self.remember("FACT-1 the tide of Brest is six", scope="/diary", categories=["sea"], importance=0.5)
        return known


result = Diary().kickoff()
second = Diary().kickoff()
print(result, second)

script = {}
remembered = {}
