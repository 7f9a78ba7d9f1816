"""JSON of what tasks and crews hold."""

import base64
import json
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from pydantic import BaseModel

__all__ = ["CrewJSONEncoder"]


class CrewJSONEncoder(json.JSONEncoder):
    """`json.dumps(..., cls=CrewJSONEncoder)` writes models, times, ids, decimals, enums and bytes (base64), too."""

    def default(self, obj: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """What is written in the place of an object.

        Raises:
            TypeError: JSON has nothing for it.
        """
        if isinstance(obj, BaseModel):
            return obj.model_dump(mode="json")
        if isinstance(obj, (datetime, date)):
            return obj.isoformat()
        if isinstance(obj, (UUID, Decimal, Enum)):
            return str(obj)
        if isinstance(obj, bytes):
            return base64.b64encode(obj).decode()
        return super().default(obj)
