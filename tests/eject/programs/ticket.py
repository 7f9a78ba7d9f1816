"""A flow whose routers change the state, hand labels on, and lead to methods that do without what they are given."""

from typing import Literal

from pydantic import BaseModel

from crewgraph.flow import Flow, and_, listen, or_, router, start


class Ticket(BaseModel):
    """What is worked on."""

    text: str = " my crash "
    kind: str = ""
    tries: int = 0
    said: list[str] = []


class TicketFlow(Flow[Ticket]):
    """Looks at a ticket until there is an answer."""

    @start()
    def read(self) -> str:
        """Read it."""
        return self.state.text.strip()

    @start()
    def audit(self) -> None:
        """Note that it came."""
        self.state.said.append("audited")

    @router(read)
    def sort(self, text: str) -> Literal["bug", "bill", "other"]:
        """Say what it is."""
        if "refund" in text:
            self.state.kind = "bill"
            return "bill"
        self.state.kind = "bug" if "crash" in text else "other"
        if self.state.kind == "bug":
            return "bug"
        return "other"

    @listen("bug")
    def reproduce(self) -> str:
        """See it happen."""
        self.state.tries += 1
        return f"seen {self.state.tries}"

    @listen(or_("other", "retry", reproduce))
    def guess(self, given: str) -> str:
        """Think of an answer."""
        self.state.tries += 1
        self.state.kind += f" {given}"
        return "dropped"

    @router(guess)
    def enough(self) -> Literal["retry", "done"]:
        """Say whether it will do."""
        if self.state.tries < 3:
            self.state.tries += 1
            return "retry"
        return "done"

    @listen(or_("done", "bill"))
    def close(self, last: str) -> str:
        """Close it; what it returns is nobody's."""
        self.state.tries += 10
        return f"closed: {last}"

    @listen(and_(close, audit))
    def log(self) -> str:
        """Tell of it."""
        return f"{self.state.kind} {self.state.tries} {self.state.said}"


if __name__ == "ticket":
    TicketFlow().kickoff()

script: dict[str, list[str]] = {}
