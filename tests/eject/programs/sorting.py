"""A flow whose routers listen to the labels of routers: each receives what the first of them received."""

from typing import Literal

from pydantic import BaseModel

from crewgraph.flow import Flow, listen, router, start


class Letter(BaseModel):
    """What was seen."""

    seen: list[str] = []


class SortingFlow(Flow[Letter]):
    """Sorts a letter."""

    @start()
    def load(self) -> str:
        """Read the letter."""
        return "INVOICE-7"

    @router(load)
    def validate(self, text: str) -> Literal["valid", "empty"]:
        """Check that there is a letter."""
        return "valid" if text else "empty"

    @router("valid")
    def sort(self, text: str) -> Literal["invoice", "other"]:
        """Tell its kind."""
        self.state.seen.append(text)
        return "invoice" if text.startswith("INVOICE") else "other"

    @router("invoice")
    def rank(self, text: str) -> Literal["urgent", "later"]:
        """Tell its rank."""
        self.state.seen.append(text.lower())
        return "urgent" if text.endswith("7") else "later"

    @listen("urgent")
    def pay(self) -> str:
        """Say what was seen."""
        return " ".join(self.state.seen)


if __name__ == "sorting":
    SortingFlow().kickoff()

script: dict[str, list[str]] = {}
