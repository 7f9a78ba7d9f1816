"""What older programs do with outputs, which were texts or dicts then: it works, and is told."""

from typing import TYPE_CHECKING, Any

from crewgraph.definitions.structured_output import StructuredOutput
from crewgraph.deprecations import warn_deprecated

__all__ = ["FormerOutput"]

_RAW = frozenset({"output", "final_output", "result", "raw_output"})
_OF_TEXTS = frozenset(
    {"encode", "endswith", "find", "lower", "lstrip", "replace", "rstrip", "split", "splitlines", "startswith", "strip"}
    | {"upper"}
)


class FormerOutput(StructuredOutput):
    """An output that answers to its former names, and to the operations of texts."""

    if not TYPE_CHECKING:  # a checker is to know nothing of them

        def __getattr__(self, name: str) -> Any:
            if name in _RAW:
                warn_deprecated(f"`{name}` of an output", "write `raw`")
                return self.raw
            if name == "exported_output":
                instead = "write `pydantic`, `json_dict` or `raw`, whichever it has"
                warn_deprecated("`exported_output` of an output", instead, by_hand=True)
                return self.pydantic or self.json_dict or self.raw
            if name == "get":
                warn_deprecated("`get` of an output", "write `output.to_dict().get(...)`")
                return self.to_dict().get
            return getattr(self.as_text(), name) if name in _OF_TEXTS else super().__getattr__(name)

        def __add__(self, other: object) -> Any:
            return self.as_text() + other if isinstance(other, str) else NotImplemented

        def __radd__(self, other: object) -> Any:
            return other + self.as_text() if isinstance(other, str) else NotImplemented

        def __contains__(self, part: object) -> bool:
            return part in self.as_text() if isinstance(part, str) else any(part == pair for pair in self)

        def __len__(self) -> int:
            return len(self.as_text())

    def as_text(self) -> str:
        """What `print` shows of it, where a program takes the output for a text; that is told."""
        warn_deprecated("an output as a text", "write `str(output)` for what `print` shows, or `output.raw`")
        return str(self)

    def __bool__(self) -> bool:
        return True  # an output is there, whatever its text
