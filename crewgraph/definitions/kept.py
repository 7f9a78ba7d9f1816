"""What others keep with a definition."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Any, Self

__all__ = ["Kept"]

_MOST = 4


class Kept:
    """A few things made of a definition, the latest used; a copy of the definition begins without."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._things: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable) -> Any:
        """What was kept under a key, else None."""
        with self._lock:
            if key in self._things:
                self._things.move_to_end(key)
            return self._things.get(key)

    def put(self, key: Hashable, thing: Any) -> None:
        """Keep something; what was not used for longest goes."""
        with self._lock:
            self._things[key] = thing
            if len(self._things) > _MOST:
                self._things.popitem(last=False)

    def __copy__(self) -> Self:
        return type(self)()

    def __deepcopy__(self, _: Any) -> Self:
        return type(self)()
