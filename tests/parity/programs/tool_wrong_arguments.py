"""The model gives a tool the wrong arguments, then the right ones."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("price")
def price(item: str, count: int) -> str:
    """The price of some items."""
    print("priced", item, count)
    return "PRICE-1"


seller = Agent(role="Seller", goal="Sell", backstory="Sells.", tools=[price])
task = Task(description="What do 3 apples cost? DESC-1", expected_output="A price", agent=seller)
result = Crew(agents=[seller], tasks=[task]).kickoff()
print(result.raw)

script = {
    "DESC-1": [{"tool": ["price", {"thing": "apple"}]}, {"tool": ["price", {"item": "apple", "count": 3}]}, "COST-1"]
}
