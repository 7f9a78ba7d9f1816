"""What outputs of tasks and of crews have in common."""

from typing import Any

from pydantic import BaseModel, ConfigDict, SerializeAsAny

__all__ = ["StructuredOutput"]


class StructuredOutput(BaseModel):
    """An output that may hold a structured form of its text."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    raw: str = ""
    """The text as the model wrote it."""

    pydantic: SerializeAsAny[BaseModel] | None = None
    """The text as an instance of `output_pydantic`."""

    json_dict: dict[str, Any] | None = None
    """The text as the fields of `output_json`."""

    def to_dict(self) -> dict[str, Any]:
        """The structured form as a dict; empty where there is none."""
        if self.json_dict:
            return dict(self.json_dict)
        return self.pydantic.model_dump() if self.pydantic is not None else {}

    def __str__(self) -> str:
        if self.pydantic is not None:
            return str(self.pydantic)
        return str(self.json_dict) if self.json_dict else self.raw
