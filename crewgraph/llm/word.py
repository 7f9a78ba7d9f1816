"""A keyword of a model that is kept among those for its provider, and read and changed like an attribute."""

from typing import Any, Generic, Protocol, Self, TypeVar, cast, overload

__all__ = ["Word"]

T = TypeVar("T")


class _Worded(Protocol):
    additional_params: dict[str, Any]


class Word(Generic[T]):
    """An attribute that is one of the `additional_params`.

    Args:
        default: what it is where it was not given.
        about: what it is for.
    """

    def __init__(self, default: T, about: str) -> None:
        self._default, self.__doc__ = default, about

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, model: None, kind: type[Any]) -> Self: ...
    @overload
    def __get__(self, model: _Worded, kind: type[Any]) -> T: ...
    def __get__(self, model: _Worded | None, kind: type[Any]) -> Self | T:
        return self if model is None else cast("T", model.additional_params.get(self._name, self._default))

    def __set__(self, model: _Worded, value: T) -> None:
        model.additional_params[self._name] = value
