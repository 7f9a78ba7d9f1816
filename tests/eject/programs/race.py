"""A flow whose methods wait for the first of several: of two beginnings, of two branches, and of a label and a method."""

from typing import Any, Literal

from pydantic import BaseModel

from crewgraph.flow import Flow, listen, or_, router, start


class Race(BaseModel):
    """What was seen."""

    first: str = ""
    rest: list[str] = []
    rounds: int = 0


class RaceFlow(Flow[Race]):
    """Runs."""

    @start()
    def left(self) -> str:
        """Begin here."""
        return "LEFT-1"

    @start()
    def right(self) -> str:
        """Begin there."""
        return "RIGHT-1"

    @listen(or_(right, left))
    def won(self, first: str, *rest: str, unit: str = "m", **more: str) -> str:
        """See who was first."""
        self.state.first = f"{first} {len(rest)} {unit} {sorted(more)}"
        return first

    @router(or_(won, "more"))
    def way(self) -> Literal["short", "long"]:
        """Choose a way."""
        self.state.rounds += 1
        return "short" if self.state.rounds == 1 else "long"

    @listen("long")
    def far(self) -> str:
        """Go far."""
        return "FAR-1"

    @listen(or_("short", far))
    def there(self, given: Any) -> Any:
        """Arrive."""
        self.state.rest.append(str(given))
        return given

    @router(there)
    def done(self) -> Literal["more", "enough"]:
        """Go once more."""
        return "more" if self.state.rounds < 2 else "enough"

    @listen("enough")
    def end(self) -> str:
        """Say what was seen."""
        return f"{self.state.first}: {self.state.rest}"


if __name__ == "race":
    RaceFlow().kickoff()

script: dict[str, list[str]] = {}
