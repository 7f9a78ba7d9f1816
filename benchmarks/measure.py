"""A measure: a table whose columns are cases and whose rows are contenders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.environment import OWN, Environment

__all__ = ["Contender", "Measure"]


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A row: a program, and the environment it runs in."""

    name: str
    words: tuple[str, ...]
    """Its command line after `python`; `{case}` is replaced by the column's word."""

    environment: Environment = OWN
    cases: Sequence[str] | None = None
    """The words of the columns it takes part in; None for all."""

    def takes(self, case: str) -> bool:
        """Whether it takes part in a column."""
        return self.cases is None or case in self.cases

    def command(self, case: str) -> list[str]:
        """Return its command line for a column."""
        return [word.replace("{case}", case) for word in self.words]


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A benchmark, with a table for each figure that its programs print."""

    name: str
    title: str
    figures: Mapping[str, str]
    """The unit of each figure."""

    cases: Mapping[str, str]
    """The word of each column, by its heading."""

    contenders: Sequence[Contender]
    """The contenders; the first is the baseline of the ratios."""

    goal: str
    """A description, one sentence."""
