"""A class with the same name as one in `test_serialization`."""

from pydantic import BaseModel

__all__ = ["Fish"]


class Fish(BaseModel):
    """Like the class in `test_serialization`, with another field."""

    length: int = 0
