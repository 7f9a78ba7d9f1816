"""Who was asked how much: usage by the name of the model."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from crewgraph.core.messages import Reply, Usage
from crewgraph.core.protocols import Model
from crewgraph.llm.usage import UsageMetrics

__all__ = ["UsageLedger", "plain_usage", "total"]


class UsageLedger:
    """What models reported while something was done, each under its name: they differ in their prices."""

    def __init__(self) -> None:
        self._by_model: dict[str, UsageMetrics] = {}
        self._of_coworkers: dict[str, UsageLedger] = {}

    def count(self, model: str, usage: Usage | None) -> None:
        """Add one answered request; None where nothing was reported counts the request alone."""
        self._of(model).count(usage)

    def answered(self, model: Model, reply: Reply) -> None:
        """Add a request that a model, or one that stood in for it, has answered."""
        self.count(reply.get("model", model.name), reply["usage"])

    def add(self, used: Mapping[str, Any]) -> None:
        """Add what another ledger told, as it is or as plain data."""
        for model, usage in used.items():
            self._of(model).add_usage_metrics(UsageMetrics.model_validate(usage))

    def coworker(self, role: str) -> "UsageLedger":
        """What is used by somebody to whom work was handed; it counts here, too."""
        return self._of_coworkers.setdefault(role, UsageLedger())

    def by_agent(self, role: str) -> dict[str, dict[str, UsageMetrics]]:
        """The usages by role and model; empty where no work was handed over.

        Args:
            role: whose ledger this is.
        """
        if not self._of_coworkers:
            return {}
        made: dict[str, UsageLedger] = {}
        for who, ledger in self._parts(role):
            made.setdefault(who, UsageLedger()).add(ledger._by_model)
        return {who: ledger.told for who, ledger in made.items()}

    def _parts(self, role: str) -> "Iterator[tuple[str, UsageLedger]]":
        yield role, self
        for who, ledger in self._of_coworkers.items():
            yield from ledger._parts(who)

    def _all(self) -> dict[str, UsageMetrics]:
        if not self._of_coworkers:
            return self._by_model
        made: dict[str, UsageMetrics] = {}
        for _, ledger in self._parts(""):
            for model, usage in ledger._by_model.items():
                made.setdefault(model, UsageMetrics()).add_usage_metrics(usage)
        return made

    def _of(self, model: str) -> UsageMetrics:
        if model not in self._by_model:
            self._by_model[model] = UsageMetrics()
        return self._by_model[model]

    @property
    def told(self) -> dict[str, UsageMetrics]:
        """The usages so far, which later requests do not change."""
        return {model: total((usage,)) for model, usage in self._all().items()}

    @property
    def total(self) -> UsageMetrics:
        """The sum over all models."""
        return total(self._all().values())

    def to_plain(self) -> dict[str, dict[str, int]]:
        """As plain data, for `add`."""
        return plain_usage(self._all())


def plain_usage(by_model: Mapping[str, UsageMetrics]) -> dict[str, dict[str, int]]:
    """Usages by model as plain data, zeros left out."""
    return {model: usage.model_dump(exclude_defaults=True) for model, usage in by_model.items()}


def total(parts: Iterable[UsageMetrics]) -> UsageMetrics:
    """The sum of usages; none of them is changed."""
    made = UsageMetrics()
    for part in parts:
        made.add_usage_metrics(part)
    return made
