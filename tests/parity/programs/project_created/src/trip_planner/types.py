from typing import List, Optional

from pydantic import BaseModel, Field


class Day(BaseModel):
    day: int = Field(..., description="Number of the day")
    places: List[str] = Field(default_factory=list)


class Itinerary(BaseModel):
    """Days of a trip."""

    days: List[Day]
    total_cost: float = Field(..., description="What it costs")
    remarks: Optional[str] = None
