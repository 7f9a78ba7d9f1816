"""Tools of many shapes: nested models, defaults, enums, results that are no texts, failures, async ones."""

import asyncio
import json
from datetime import datetime
from enum import Enum
from typing import Any, Dict, List, Literal, Optional, Type, Union

from crewai import Agent, Crew, Task
from crewai.tools import BaseTool, tool
from crewai.tools.structured_tool import CrewStructuredTool
from pydantic import BaseModel, Field, field_validator


class Level(str, Enum):
    LOW = "low"
    HIGH = "high"


class Item(BaseModel):
    name: str
    count: int = 1
    tags: List[str] = []


class OrderInput(BaseModel):
    items: List[Item]
    level: Level = Level.LOW
    when: Optional[datetime] = None
    mode: Literal["a", "b"] = "a"
    extra: Dict[str, Any] = Field(default_factory=dict)

    @field_validator("items")
    @classmethod
    def some(cls, value):
        if not value:
            raise ValueError("NOITEMS-1")
        return value


class Order(BaseTool):
    name: str = "Order things!"
    description: str = "Orders things"
    args_schema: Type[BaseModel] = OrderInput

    def _run(self, items, level=Level.LOW, when=None, mode="a", extra=None) -> str:
        first = items[0]
        print("order", type(first).__name__, type(level).__name__, level, when, mode, extra)
        return json.dumps({"n": len(items)})


class NoSchema(BaseTool):
    name: str = "no_schema"
    description: str = "Takes what it is given"

    def _run(self, text: str, number: Union[int, None] = None, *args: Any, **kwargs: Any) -> str:
        print("no_schema", text, number, args, kwargs)
        return f"{text}/{number}"


class ReturnsNone(BaseTool):
    name: str = "returns_none"
    description: str = "Gives nothing"

    def _run(self) -> None:
        print("none called")


class ReturnsModel(BaseTool):
    name: str = "returns_model"
    description: str = "Gives a model"

    def _run(self, name: str) -> Item:
        return Item(name=name, tags=["MODEL-1"])


class ReturnsList(BaseTool):
    name: str = "returns_list"
    description: str = "Gives a list"

    def _run(self, n: int) -> list:
        return [{"i": i} for i in range(n)]


class Breaks(BaseTool):
    name: str = "breaks"
    description: str = "Breaks"

    def _run(self, how: str) -> str:
        print("breaks", how)
        if how == "key":
            raise KeyError("KEY-1")
        if how == "exit":
            raise RuntimeError("RUN-1 {with} braces")
        return {}["nothing"]


class AsyncTool(BaseTool):
    name: str = "async_tool"
    description: str = "Waits"

    async def _run(self, what: str) -> str:
        await asyncio.sleep(0)
        return f"ASYNC-1 {what}"


@tool
def bare(question: str) -> str:
    """Answers a bare question."""
    return f"BARE-1 {question}"


@tool("with_defaults", result_as_answer=False)
def with_defaults(a: int, b: int = 2, *, c: str = "c") -> dict:
    """Adds."""
    print("with_defaults", a, b, c)
    return {"sum": a + b}


def helper(path: str, lines: int = 2) -> str:
    """Reads a file."""
    return f"{path}:{lines}"


structured = CrewStructuredTool.from_function(func=helper, name="read_lines", description="Reads lines")
print(structured.name, sorted(structured.args_schema.model_json_schema()["properties"]))
print(structured.invoke({"path": "x"}), structured.invoke({"path": "y", "lines": 3}))
print(bare.name, bare.run("q"), with_defaults.run(a=1), ReturnsModel().run(name="n"))
print(NoSchema().run("t"), NoSchema()._run("u", 4), NoSchema().args_schema.__name__)

agent = Agent(
    role="Tooler",
    goal="Use tools",
    backstory="Uses.",
    tools=[
        Order(),
        NoSchema(),
        ReturnsNone(),
        ReturnsModel(),
        ReturnsList(),
        Breaks(),
        AsyncTool(),
        bare,
        with_defaults,
    ],
    max_iter=20,
)
t1 = Task(description="Go DESC-1", expected_output="all", agent=agent)
t2 = Task(description="More DESC-2", expected_output="all", agent=agent)
result = Crew(agents=[agent], tasks=[t1, t2], verbose=True).kickoff()
print(result.raw)

script = {
    "DESC-2": [
        {"tool": ["returns_none", {}]},
        {"tool": ["breaks", {"how": "key"}]},
        {"tool": ["breaks", {"how": "exit"}]},
        {"tool": ["async_tool", {"what": "w"}]},
        {"tool": ["bare", {"question": "q"}]},
        {"tool": ["with_defaults", {"a": "5", "c": "d"}]},
        "OUT-2",
    ],
    "DESC-1": [
        {
            "tool": [
                "Order things!",
                {
                    "items": [{"name": "x"}],
                    "level": "high",
                    "when": "2024-01-02T03:04:05",
                    "mode": "b",
                    "extra": {"k": 1},
                },
            ]
        },
        {"tool": ["Order things!", {"items": [{"name": "x", "count": "3"}], "extra": {}}]},
        {"tool": ["Order things!", {"items": []}]},
        {"tool": ["no_schema", {"text": "hi", "number": 3}]},
        {"tool": ["returns_model", {"name": "m"}]},
        {"tool": ["returns_list", {"n": 2}]},
        "OUT-1",
    ],
}
