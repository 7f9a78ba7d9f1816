"""A flow that is kept, runs another one, asks an agent, and has a router that changes the state."""

from typing import Literal

from pydantic import BaseModel

from crewgraph import Agent
from crewgraph.flow import Flow, FlowState, and_, listen, or_, persist, router, start


class Headline(BaseModel):
    """The first line."""

    text: str


class Page(BaseModel):
    """What a page is made of."""

    number: int = 0
    lines: list[str] = []


class PageFlow(Flow[Page]):
    """Sets a page."""

    @start()
    async def begin(self) -> None:
        """Begin the page."""
        self.state.lines = [f"page {self.state.number}"]

    @listen(begin)
    def end(self) -> str:
        """End it."""
        return " ".join([*self.state.lines, "END-1"])


class Press(FlowState):
    """What the press works on."""

    pages: list[str] = []
    tries: int = 0
    headline: str = ""


def asked(what: str) -> str:
    """Ask somebody."""
    editor = Agent(role="Editor", goal="Edit", backstory="Edits.", llm="gpt-4o")
    return editor.kickoff(what).raw


@persist()
class PressFlow(Flow[Press]):
    """Prints."""

    @start("again")
    async def setting(self) -> str:
        """Have a page set."""
        page = await PageFlow().kickoff_async(inputs={"number": self.state.tries + 1})
        self.state.pages.append(page)
        return page

    @router(setting)
    def reading(self, page: str) -> Literal["again", "good", "bad"]:
        """Read it."""
        self.state.tries += 1
        if self.state.tries < 2:
            return "again"
        return "good" if "YES" in asked(f"READ-1 {page}") else "bad"

    @listen(or_("good", "bad"))
    def heading(self) -> str:
        """Find a headline."""
        writer = Agent(role=f"Writer of {len(self.state.pages)} pages", goal="Write", backstory="Writes.")
        found = writer.kickoff("HEAD-1", response_format=Headline)
        self.state.headline = found.pydantic.text if isinstance(found.pydantic, Headline) else found.raw
        return self.state.headline

    @listen(heading)
    def colour(self) -> str:
        """Choose a colour."""
        return "red"

    @listen(and_(or_(heading, "never"), colour))
    def printing(self) -> str:
        """Print all of it."""
        return f"{self.state.headline}: {self.state.pages} {len(self.state.id) > 0}"


if __name__ == "press":
    PressFlow().kickoff()

script = {"READ-1": ["YES-1"], "HEAD-1": ['{"text": "TITLE-1"}']}
