"""Subclasses of Agent, Task, Crew and BaseTool with fields and methods of their own."""

from typing import Any, ClassVar, Dict, List, Optional

from crewai import Agent, Crew, Task
from crewai.tools import BaseTool
from pydantic import ConfigDict, Field, PrivateAttr, model_validator


class LoggedAgent(Agent):
    department: str = "sales"
    history: List[str] = Field(default_factory=list)
    _secret: str = PrivateAttr(default="s")
    KIND: ClassVar[str] = "logged"

    def execute_task(self, task, context=None, tools=None):
        self.history.append(f"{self.role}: {task.description}")
        text = super().execute_task(task, context, tools)
        self.history.append(text)
        return text + "!"

    def describe(self):
        return f"{self.role} of {self.department} ({self._secret})"


class PricedTask(Task):
    price: float = 1.5
    tags: list[str] = []

    @model_validator(mode="after")
    def cheap(self):
        if self.price > 100:
            raise ValueError("TOO-1 dear")
        return self


class NotedCrew(Crew):
    label: str = Field(default="none")
    seen: List[Any] = []

    def kickoff(self, inputs: Optional[Dict[str, Any]] = None, **kwargs):
        print("before", self.label, inputs)
        out = super().kickoff(inputs=inputs, **kwargs)
        self.seen.append(out.raw)
        print("after", out.raw)
        return out


class WrappedAgent:
    """An agent held by an object of the program's."""

    def __init__(self, name):
        self.agent = Agent(role=name, goal=f"{name} well", backstory="...", verbose=False)

    def __getattr__(self, name):
        return getattr(self.agent, name)


class ResearcherAgent(Agent):
    def __init__(self, **kwargs):
        given = {"role": "Researcher", "goal": "Find", "backstory": "Finds {things}", "tools": [Lookup(base="x")]}
        super().__init__(**{**given, **kwargs})


class Lookup(BaseTool):
    name: str = "Look up"
    description: str = "Looks up a word."
    base: str
    count: int = 0
    model_config = ConfigDict(arbitrary_types_allowed=True, extra="allow")

    def _run(self, word: str) -> str:
        self.count += 1
        return f"{self.base}:{word}:{self.count}"


a = LoggedAgent(role="Seller of {what}", goal="Sell", backstory="Sells.", department="boats")
print(a.describe(), a.KIND, isinstance(a, Agent), a.department)
r = ResearcherAgent(max_iter=4)
print(r.role, r.tools[0].name, r.max_iter)
t = PricedTask(description="Sell {what} DESC-1", expected_output="ok", agent=a, price=3)
t2 = PricedTask(description="Find DESC-2", expected_output="ok", agent=r, tags=["x"], context=[t])
try:
    PricedTask(description="Sell", expected_output="ok", price=300)
except Exception as e:
    print(type(e).__name__, "TOO-1" in str(e))
w = WrappedAgent("Wrapped")
t3 = Task(description="Wrap DESC-3", expected_output="ok", agent=w.agent)
crew = NotedCrew(agents=[a, r, w.agent], tasks=[t, t2, t3], label="mine", verbose=True)
result = crew.kickoff(inputs={"what": "boats", "things": "all"})
print(a.history, t.price, t2.tags, crew.seen)
print(r.tools[0].count, t.output.raw, t3.output.agent)
second = crew.kickoff({"what": "oars", "things": "none"})
print(len(a.history), crew.seen)
print([one.role for one in crew.agents], w.role)
print(type(crew.agents[0]).__name__, type(crew.tasks[0]).__name__, crew.label)

script = {"DESC-3": ["OUT-3"], "DESC-2": [{"tool": ["Look up", {"word": "tide"}]}, "OUT-2"], "DESC-1": ["OUT-1"]}
