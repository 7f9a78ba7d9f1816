"""A tool is used before an answer with a structure."""

from crewai import Agent, Crew, Task
from crewai.tools import tool
from pydantic import BaseModel


class Price(BaseModel):
    item: str
    euros: float


@tool("price_of")
def price_of(item: str) -> str:
    """The price of an item."""
    return "costs EUROS-1 2.5"


seller = Agent(role="Seller", goal="Sell", backstory="Sells.", tools=[price_of])
task = Task(description="Price of an apple DESC-1", expected_output="A price", agent=seller, output_pydantic=Price)
result = Crew(agents=[seller], tasks=[task]).kickoff()
print(result.pydantic.euros)

script = {
    "DESC-1": [{"tool": ["price_of", {"item": "apple"}]}, '{"item": "apple ITEM-1", "euros": 2.5}'],
    "ITEM-1": ['{"item": "apple ITEM-1", "euros": 2.5}'],
}
