"""Placeholder for a package that is not installed and may never be needed."""

from collections.abc import Generator
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import core_schema

from crewgraph.errors import MissingExtra


class MissingPackage:
    """A missing package or a name in it; it can be imported and used in annotations, but not called."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> "MissingPackage":
        if name.startswith("__"):
            raise AttributeError(name)
        return MissingPackage(f"{self._path}.{name}")

    def __call__(self, *_args: Any, **_given: Any) -> Any:
        """Refuse the call.

        Raises:
            MissingExtra: Always; the message says what to install.
        """
        raise self._missing()

    def __iter__(self) -> Generator[Any]:
        yield from ()

    def __or__(self, _other: object) -> Any:
        return Any

    __ror__ = __or__

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.any_schema()

    def __repr__(self) -> str:
        return f"<`{self._path}`, which is not installed>"

    def _missing(self) -> MissingExtra:
        package = self._path.partition(".")[0].replace("_", "-")
        return MissingExtra(
            f"`{self._path}` is required here, but the package is not installed. Install it with: pip install {package}"
        )
