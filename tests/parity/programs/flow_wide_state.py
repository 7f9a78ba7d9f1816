"""A flow that keeps what pydantic knows: dates, sets, decimals."""

import datetime
from decimal import Decimal

from crewai.flow.flow import Flow, listen, start
from pydantic import BaseModel, Field


class State(BaseModel):
    day: datetime.date = datetime.date(2024, 1, 2)
    price: Decimal = Decimal("1.50")
    tags: set[str] = Field(default_factory=set)


class F(Flow[State]):
    @start()
    def one(self):
        self.state.tags.add("t")
        self.state.price *= 2
        return self.state.day.year

    @listen(one)
    def two(self, year):
        return [year, str(self.state.price), sorted(self.state.tags)]


flow = F()
result = flow.kickoff()
print(result)

script = {}
