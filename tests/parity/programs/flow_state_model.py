"""A state of pydantic models inside each other."""

from crewai.flow.flow import Flow, listen, start
from pydantic import BaseModel


class Note(BaseModel):
    text: str
    stars: int = 0


class State(BaseModel):
    topic: str = "TIDES-1"
    notes: list[Note] = []
    best: Note | None = None


class F(Flow[State]):
    @start()
    def write(self):
        self.state.notes.append(Note(text="N-1", stars=2))
        self.state.notes.append(Note(text="N-2", stars=5))

    @listen(write)
    def choose(self):
        self.state.best = max(self.state.notes, key=lambda note: note.stars)
        return self.state.best.text


flow = F()
result = flow.kickoff()
print(result, flow.state.best.stars, len(flow.state.notes), flow.state.topic)

script = {}
