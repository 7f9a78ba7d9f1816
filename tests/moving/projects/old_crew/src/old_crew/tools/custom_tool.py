from typing import Type

from crewai_tools import BaseTool
from pydantic import BaseModel, Field


class DepthInput(BaseModel):
    place: str = Field(..., description="Where.")


class DepthTool(BaseTool):
    name: str = "depth"
    description: str = "How deep the water is."
    args_schema: Type[BaseModel] = DepthInput

    def _run(self, place: str) -> str:
        return f"{place}: 4 m"
