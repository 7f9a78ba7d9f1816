"""A flow that is kept between two objects of its class: nested state, crews inside, a step that fails once."""

import os
from typing import Any, Dict, List, Optional

from crewai import Agent, Crew, Task
from crewai.flow.flow import Flow, FlowState, listen, or_, router, start
from crewai.flow.persistence import persist
from pydantic import BaseModel, Field


class Line(BaseModel):
    text: str
    done: bool = False


class Doc(FlowState):
    lines: List[Line] = Field(default_factory=list)
    extra: Dict[str, Any] = {}
    count: int = 0
    last: Optional[Line] = None


def say(text):
    a = Agent(role="Sayer", goal="Say", backstory="b")
    return Crew(agents=[a], tasks=[Task(description=text, expected_output="t", agent=a)]).kickoff().raw


calls = []


@persist()
class Work(Flow[Doc]):
    @start()
    def first(self):
        calls.append("first")
        self.state.count += 1
        self.state.lines.append(Line(text=say(f"Line {self.state.count} LINE-1")))
        self.state.extra["k"] = {"n": [1, 2, {"deep": True}]}
        return self.state.lines[-1]

    @listen(first)
    def second(self, line):
        calls.append(("second", type(line).__name__, line.text))
        self.state.last = line
        if self.state.count == 1 and not os.environ.get("GO"):
            raise RuntimeError("STOP-1")
        line.done = True

    @router(second)
    def way(self):
        return "again" if self.state.count < 3 else "over"

    @listen("again")
    def more(self):
        calls.append("more")
        self.state.count += 1

    @listen(or_("over", more))
    def end(self):
        calls.append("end")
        return {"count": self.state.count, "lines": len(self.state.lines)}


flow = Work()
try:
    flow.kickoff()
except RuntimeError as e:
    print("stopped", e)
fid = flow.state.id
print(flow.state.count, len(flow.state.lines), calls)
os.environ["GO"] = "1"
fresh = Work()
print(fresh.kickoff(inputs={"count": 1}), fresh.state.id != fid)
print(calls[2:], fresh.state.extra["k"]["n"][2], fresh.state.last.done)
third = Work()
result = third.kickoff(inputs={"id": fresh.state.id})
print(result, third.state.count, len(third.state.lines), third.state.lines[0].text, type(third.state.lines[0]).__name__)
print(third.state.model_dump()["extra"], third.state.last.text)
unknown = Work()
print(unknown.kickoff(inputs={"id": "no-such-id"}), unknown.state.id)

script = {"LINE-1": ["SAID-1", "SAID-2", "SAID-3"]}
