"""A class whose name another one has, too."""

from pydantic import BaseModel

__all__ = ["Fish"]


class Fish(BaseModel):
    """As in `test_record`, with another field."""

    length: int = 0
