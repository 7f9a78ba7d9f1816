"""A flow that remembers and recalls."""

from crewai.flow.flow import Flow, listen, start


class Research(Flow):
    @start()
    def look(self):
        self.remember("FACT-1 the tide of Brest is six", scope="/tides", categories=["sea"], importance=0.5)
        self.remember("FACT-2 apples are red")
        return "the tide of Brest"

    @listen(look)
    def think(self, topic):
        found = self.recall(topic, limit=1)
        print([(match.record.content, match.record.scope) for match in found])
        print(sorted(match.record.content for match in self.recall("red apples", limit=5)))
        return self.extract_memories("ASK-1 a long text")


flow = Research()
result = flow.kickoff()
print(result)

script = {}
remembered = {
    "FACT-2": {"suggested_scope": "/market", "categories": ["fruit"]},
    "ASK-1": {"memories": ["FACT-3 is in the text"]},
}
