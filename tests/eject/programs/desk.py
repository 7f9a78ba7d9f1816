"""A flow with a loop, branches that meet, a method that others call, and crews made in methods and functions."""

from typing import Literal

from pydantic import BaseModel

from crewgraph import Agent, Crew, Task
from crewgraph.flow import Flow, and_, listen, or_, router, start


class Desk(BaseModel):
    """What the desk works on."""

    topic: str = "tides"
    tries: int = 0
    found: list[str] = []
    verdict: str = ""


def written(what: str) -> str:
    """Have something written."""
    agent = Agent(role="Writer", goal="Write", backstory="Writes.")
    task = Task(description=f"Write: {what}", expected_output="Text", agent=agent)
    return Crew(agents=[agent], tasks=[task]).kickoff().raw


class DeskFlow(Flow[Desk]):
    """Writes until it is good."""

    limit = 3

    @start("again")
    def draft(self) -> str:
        """Write a draft."""
        self.state.tries += 1
        self._note(f"try {self.state.tries}")
        return written(f"DRAFT-0 {self.state.tries}")

    def _note(self, text: str) -> None:
        """Note something."""
        self.state.found.append(text)

    @router(draft)
    def judge(self, text: str) -> Literal["good", "again"]:
        """Look at a draft."""
        # As often as it takes.
        if "GOOD" in text or self.state.tries >= self.limit:
            return "good"
        return "again"

    @listen("good")
    def picture(self) -> str:
        """Describe a picture."""
        artist = Agent(role="Artist", goal="Paint", backstory="Paints.")
        paint = Task(description=f"A picture of {self.state.topic} PAINT-1", expected_output="Text", agent=artist)
        crew = Crew(name="studio", agents=[artist], tasks=[paint])
        result = crew.kickoff()
        self._note("picture")
        return result.raw

    @listen("good")
    def words(self, label: str) -> str:
        """Write what belongs to it."""
        self._note(label)
        return written("WORDS-1")

    @listen(and_(picture, words))
    def layout(self, last: str) -> str:
        """Put both together."""
        self.state.verdict = last
        return f"{last} on {self.state.topic}"

    @router(layout)
    def way(self) -> Literal["print", "send"]:
        """Where it goes."""
        return "print" if self.state.verdict else "send"

    @listen(or_("print", "send"))
    def out(self) -> str:
        """Send it off."""
        return f"{self.state.verdict} {self.state.tries} {sorted(self.state.found)}"


if __name__ == "desk":
    DeskFlow().kickoff(inputs={"topic": "ships"})

script = {"PAINT-1": ["PICTURE-1"], "WORDS-1": [{"text": "WORDS-2", "delay": 0.4}], "DRAFT-0": ["BAD-1", "GOOD-1"]}
