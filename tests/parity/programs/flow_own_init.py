"""A flow with attributes of its own."""

from crewai.flow.flow import Flow, listen, start


class F(Flow):
    def __init__(self, prefix):
        super().__init__()
        self.prefix = prefix
        self.seen = []

    @start()
    def one(self):
        self.seen.append("one")
        return f"{self.prefix} ONE-1"

    @listen(one)
    def two(self, given):
        self.seen.append("two")
        return self.described(given)

    def described(self, text):
        return f"<{text}>"


flow = F("PRE-1")
result = flow.kickoff()
print(result, flow.seen)

script = {}
