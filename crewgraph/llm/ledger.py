"""Usage by the name of the model, as the metrics that outputs show."""

from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from crewgraph.core.messages import Reply, Usage
from crewgraph.core.protocols import Model
from crewgraph.core.usage import UsageCounter, UsageEntry, request_entry
from crewgraph.llm.usage import UsageMetrics

__all__ = ["LEDGERS", "UsageLedger", "plain_usage", "total"]


class UsageLedger:
    """What models reported while something was done, each under its name: they differ in their prices.

    Several threads may add to it.

    Args:
        entries: what it begins with, whoever asked.
    """

    def __init__(self, entries: Iterable[UsageEntry] = ()) -> None:
        self._counter = UsageCounter()
        self._coworkers: dict[str, UsageLedger] = {}
        self._counter.add(("", model, tokens) for _, model, tokens in entries)

    def count(self, model: str, usage: Usage | None) -> None:
        """Add one answered request; None where nothing was reported counts the request alone."""
        self._counter.add([request_entry("", model, usage)])

    def answered(self, model: Model, reply: Reply) -> None:
        """Add a request that a model, or one that stood in for it, has answered."""
        self.count(reply.get("model", model.name), reply["usage"])

    def add(self, used: Mapping[str, Any]) -> None:
        """Add usages by model, as metrics or as plain data."""
        read = {model: UsageMetrics.model_validate(usage) for model, usage in used.items()}
        self._counter.add(("", model, tokens) for model, tokens in plain_usage(read).items())

    def coworker(self, role: str) -> "UsageLedger":
        """What is used by somebody to whom work was handed; it counts here, too."""
        return self._coworkers.setdefault(role, UsageLedger())

    def by_agent(self, role: str) -> dict[str, dict[str, UsageMetrics]]:
        """The usages by role and model; empty where no work was handed over.

        Args:
            role: whose ledger this is.
        """
        if not self._coworkers:
            return {}
        entries: dict[str, list[UsageEntry]] = {}
        for who, ledger in self._parts(role):
            entries.setdefault(who, []).extend(ledger._counter.entries)
        return {who: UsageLedger(used).by_model for who, used in entries.items()}

    def _parts(self, role: str) -> "Iterator[tuple[str, UsageLedger]]":
        yield role, self
        for who, ledger in self._coworkers.items():
            yield from ledger._parts(who)

    @property
    def by_model(self) -> dict[str, UsageMetrics]:
        """The usages so far, which later requests do not change."""
        merged = UsageCounter()
        for _, ledger in self._parts(""):
            merged.add(ledger._counter.entries)
        return {model: UsageMetrics.model_validate(tokens) for _, model, tokens in merged.entries}

    @property
    def total(self) -> UsageMetrics:
        """The sum over all models."""
        return total(self.by_model.values())

    def to_plain(self) -> dict[str, dict[str, int]]:
        """As plain data, for `add`."""
        return plain_usage(self.by_model)


LEDGERS: ContextVar[tuple[UsageLedger, ...]] = ContextVar("crewgraph_ledgers", default=())
"""Those of the flows around the running code, in which each of its requests counts."""


def plain_usage(by_model: Mapping[str, UsageMetrics]) -> dict[str, dict[str, int]]:
    """Usages by model as plain data, zeros left out."""
    return {model: usage.model_dump(exclude_defaults=True) for model, usage in by_model.items()}


def total(parts: Iterable[UsageMetrics]) -> UsageMetrics:
    """The sum of usages; none of them is changed."""
    made = UsageMetrics()
    for part in parts:
        made.add_usage_metrics(part)
    return made
