"""Agents by themselves: kickoff with texts, messages, forms, tools and guardrails, awaited, several at once."""

import asyncio
import json

from crewai import LLM, Agent
from crewai.tools import tool
from pydantic import BaseModel


class City(BaseModel):
    name: str
    people: int


@tool("population")
def population(city: str) -> int:
    """People of a city."""
    return 1000


agent = Agent(
    role="Geographer",
    goal="Know cities",
    backstory="b",
    tools=[population],
    verbose=True,
    llm=LLM(model="gpt-4o-mini", temperature=0),
)
out = agent.kickoff("How many in Brest? ASK-1")
print(out.raw, out.agent_role, out.pydantic, type(out).__name__, str(out) == out.raw)
print(out.usage_metrics["total_tokens"] if isinstance(out.usage_metrics, dict) else out.usage_metrics.total_tokens)
out = agent.kickoff(
    [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "And Nantes? ASK-2"},
    ]
)
print(out.raw)
out = agent.kickoff("As a form ASK-3", response_format=City)
print(out.pydantic, out.pydantic.name, json.loads(out.pydantic.model_dump_json()))
print(out.to_dict() if hasattr(out, "to_dict") else None)


async def main():
    one, two = await asyncio.gather(agent.kickoff_async("ASK-4"), agent.kickoff_async("ASK-5"))
    print(sorted([one.raw, two.raw]))
    return (await agent.kickoff_async("ASK-3 again", response_format=City)).pydantic.people


print(asyncio.run(main()))
guarded = Agent(
    role="G",
    goal="g",
    backstory="b",
    guardrail=lambda o: (len(o.raw) > 5, o.raw if len(o.raw) > 5 else "too short GUARD-1"),
    guardrail_max_retries=2,
)
print(guarded.kickoff("ASK-6").raw)
print(agent.kickoff("ASK-7 {not} a {placeholder}").raw)

parallel = True
script = {
    "ASK-1": [{"tool": ["population", {"city": "Brest"}]}, "THOUSAND-1"],
    "ASK-2": ["NANTES-1"],
    "ASK-3": [{"json": {"name": "Brest", "people": 5}}],
    "ASK-4": ["FOUR-4"],
    "ASK-5": ["FIVE-5"],
    "ASK-6": ["no", "long enough LONG-1"],
    "ASK-7": ["SEVEN-7"],
    "*": [{"json": {"name": "Brest", "people": 5}, "else": "STAR-1"}],
}
