"""Usage and cost of a run: a row per task, agent and model, sums by each, and a table to print."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from crewgraph.definitions.html import html_table, one_line, text_table
from crewgraph.llm.prices import cost
from crewgraph.llm.usage import UsageMetrics

_COLUMNS = ("task", "agent", "model", "requests", "read", "cached", "written", "reasoning", "USD")
_TEXT_COLUMNS = 3
_UNKNOWN = "?"
_MAX_WIDTH = 40


@dataclass(frozen=True)
class Cost:
    """Usage of one model by one agent in one task."""

    task: str
    """The task's name, else its description."""

    agent: str
    """Role of the agent: that of the task, or a coworker that it delegated to."""

    model: str
    usage: UsageMetrics

    @property
    def usd(self) -> float | None:
        """Cost in USD at the prices of `crewgraph.llm.prices`; None if the price or the tokens are unknown."""
        return cost({self.model: self.usage})


class Costs(Sequence[Cost]):
    """Costs of a run; `print`, the prompt of Python and notebooks show them as a table."""

    def __init__(self, rows: Iterable[Cost]) -> None:
        self._rows = tuple(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Cost:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._rows[index]

    def __iter__(self) -> Iterator[Cost]:
        return iter(self._rows)

    @property
    def usd(self) -> float | None:
        """Total cost in USD; None if any part is unknown."""
        return total_cost(row.usd for row in self._rows)

    @property
    def by_task(self) -> dict[str, float | None]:
        """Cost in USD by task name, or description if it has none."""
        return self._sums("task")

    @property
    def by_agent(self) -> dict[str, float | None]:
        """Cost in USD by agent role."""
        return self._sums("agent")

    @property
    def by_model(self) -> dict[str, float | None]:
        """Cost in USD by model name."""
        return self._sums("model")

    def _sums(self, part: str) -> dict[str, float | None]:
        groups: dict[str, list[float | None]] = {}
        for row in self._rows:
            groups.setdefault(getattr(row, part), []).append(row.usd)
        return {name: total_cost(group) for name, group in groups.items()}

    def __str__(self) -> str:
        return text_table(_COLUMNS, self._lines(), texts=_TEXT_COLUMNS)

    __repr__ = __str__

    def to_html(self) -> str:
        """Return the table as HTML."""
        return html_table(_COLUMNS, self._lines(), texts=_TEXT_COLUMNS)

    def _repr_html_(self) -> str:
        return self.to_html()

    def _lines(self) -> list[tuple[str, ...]]:
        """Return the cells of the table, the total last."""
        total = UsageMetrics()
        for row in self._rows:
            total.add_usage_metrics(row.usage)
        cells = [(row.task, row.agent, row.model, *_number_cells(row.usage, row.usd)) for row in self._rows]
        lines = [*cells, ("total", "", "", *_number_cells(total, self.usd))]
        return [tuple(one_line(cell, _MAX_WIDTH) for cell in line) for line in lines]


def _number_cells(usage: UsageMetrics, usd: float | None) -> tuple[str, ...]:
    tokens = (usage.prompt_tokens, usage.cached_prompt_tokens, usage.completion_tokens, usage.reasoning_tokens)
    return (
        f"{usage.successful_requests:,}",
        *(f"{number:,}" for number in tokens),
        _UNKNOWN if usd is None else f"{usd:,.6f}",
    )


def total_cost(costs: Iterable[float | None]) -> float | None:
    """Return the sum of costs; None if any of them is unknown."""
    total = 0.0
    for usd in costs:
        if usd is None:
            return None
        total += usd
    return total
