from typing import Any, Optional, Type

from crewai.tools import BaseTool, tool
from pydantic import BaseModel, Field, PrivateAttr


class WeatherInput(BaseModel):
    """Input schema for WeatherLookup."""

    city: str = Field(..., description="The city.")
    days: int = Field(3, ge=1, le=14, description="Days ahead.")


class WeatherLookup(BaseTool):
    name: str = "weather_lookup"
    description: str = "Looks up the weather. Use it for {city}: returns {json}."
    args_schema: Type[BaseModel] = WeatherInput
    api_key: Optional[str] = None
    _calls: int = PrivateAttr(default=0)

    def __init__(self, api_key: str = "none", **kwargs: Any):
        super().__init__(**kwargs)
        self.api_key = api_key

    def _run(self, city: str, days: int = 3) -> dict:
        self._calls += 1
        return {"city": city, "days": days, "calls": self._calls, "key": self.api_key}


@tool("Currency Converter")
def convert(amount: float, to: str = "EUR") -> str:
    """Converts an amount of money.

    Args:
        amount: how much
        to: the currency
    """
    return f"{amount * 2:.2f} {to}"
