"""The budgets of a run: what it has spent, and that it stops once one of them is used up."""

import time
from collections.abc import Callable, Iterable, Mapping
from threading import RLock

from crewgraph.core.meter import Meter, Place, Stopped
from crewgraph.core.players import Players
from crewgraph.definitions.crew import Crew
from crewgraph.definitions.given_budget import BUDGETS, checked_budget
from crewgraph.errors import BudgetExceeded, UnknownPrice
from crewgraph.llm.ledger import UsageLedger, total
from crewgraph.llm.prices import Price, price_of
from crewgraph.llm.usage import UsageMetrics

__all__ = ["RunMeter", "check_price"]

_MOST_TOLD = 5


class RunMeter(Players):
    """What a run of a crew has spent, in this process and before.

    Args:
        crew: its crew, whose budgets are looked at whenever they count.
        around: the meter of what the run is a part of.
        resumed: whether it may go on with what an earlier process began.
        thread: the thread it is kept under; None where it is none of its own.
        kept: whether anything keeps what it does.
    """

    def __init__(self, crew: Crew, around: Meter | None, *, resumed: bool, thread: str | None, kept: bool) -> None:
        super().__init__(around)
        for name in BUDGETS:
            checked_budget(name, getattr(crew, name))  # it may have been changed since it was made
        self.crew, self.resumed, self.thread, self.kept = crew, resumed, thread, kept
        self._began, self._before = time.monotonic(), 0.0
        self._begun: dict[str, str] = {}
        self._heard: set[Place] = set()
        self._hearing = RLock()

    @property
    def clock(self) -> float:
        return self._before + time.monotonic() - self._began

    @property
    def deadline(self) -> float | None:
        seconds, outer = self.crew.max_seconds, super().deadline
        if seconds is None:
            return outer
        own = self._began + seconds - self._before
        return own if outer is None else min(own, outer)

    def recalls(self, place: Place, above: Iterable[Place]) -> bool:
        with self._hearing:
            # Of each graph the first checkpoint that is seen is the one it was resumed at; what comes later was heard live.
            first = all(self._begun.setdefault(namespace, name) == name for namespace, name in above)
            return self.resumed and first and place not in self._heard

    def hear(self, place: Place, before: Meter, charge: Callable[[], None]) -> None:
        with self._hearing:
            if place not in self._heard:
                self._heard.add(place)
                self._before = max(self._before, before.at)
                charge()

    def check(self, model: str | None) -> None:
        crew = self.crew
        if crew.max_tokens is not None and (used := self._tokens().total.total_tokens) >= crew.max_tokens:
            raise Stopped(self, self._exceeded("max_tokens", used, crew.max_tokens))
        if crew.max_cost is not None and (cost := self._cost(model)) >= crew.max_cost:
            raise Stopped(self, self._exceeded("max_cost", cost, crew.max_cost))
        if crew.max_seconds is not None and (took := self.clock) >= crew.max_seconds:
            raise Stopped(self, self._exceeded("max_seconds", took, crew.max_seconds))

    def _tokens(self) -> UsageLedger:
        ledger = UsageLedger()
        for _, model, tokens in self.used:
            ledger.add({model: tokens})
        return ledger

    def _cost(self, model: str | None) -> float:
        used = self._tokens().told
        for name in dict.fromkeys([*used, *([model] if model else [])]):
            try:
                check_price(self.crew, name)
            except UnknownPrice as error:
                raise Stopped(self, error) from None
        return sum(price.of(usage) for name, usage in used.items() if (price := price_of(name)) is not None)

    def _exceeded(self, budget: str, spent: float, limit: float) -> BudgetExceeded:
        amount = _AMOUNTS[budget]
        crew = f"crew `{self.crew.name}`" if self.crew.name else "the crew"
        if self.thread is not None:
            then = f'Raise it (`crew.{budget} = ...`) and go on with `crew.resume("{self.thread}")`'
        elif self.kept:
            then = f"Raise it (`crew.{budget} = ...`) and resume the graph around it"
        else:
            then = f"It was kept nowhere (`checkpointer=False`): raise `{budget}` and start anew"
        kept = ", which repeats nothing and counts what was spent before" if self.kept else ""
        return BudgetExceeded(
            f"the run of {crew} stopped: {amount(spent)} are spent, and its `{budget}` is {amount(limit)}. {self._by_whom()}"
            f"{then}{kept}.",
            budget=budget,
            spent=spent,
            limit=limit,
            thread_id=self.thread,
            used=self._used_by_all(),
        )

    def _used_by_all(self) -> dict[str, dict[str, UsageMetrics]]:
        by: dict[str, UsageLedger] = {}
        for who, model, tokens in self.used:
            by.setdefault(who, UsageLedger()).add({model: tokens})
        return {who: ledger.told for who, ledger in by.items()}

    def _by_whom(self) -> str:
        used = sorted(self.used, key=lambda one: -one[2].get("total_tokens", 0))
        told = [
            f"{' '.join(who.split()) or 'others'} {tokens.get('total_tokens', 0):,} tokens in "
            f"{tokens.get('successful_requests', 0)} requests to `{model}`{_priced(model, tokens)}"
            for who, model, tokens in used[:_MOST_TOLD]
        ]
        more = [f"{len(used) - _MOST_TOLD} more"] if len(used) > _MOST_TOLD else []
        return f"Used by: {'; '.join([*told, *more])}. " if told else ""


def check_price(crew: Crew, model: str) -> None:
    """Look whether a budget in USD can be kept with a model.

    Raises:
        UnknownPrice: it cannot.
    """
    if crew.max_cost is not None and price_of(model) is None:
        raise UnknownPrice(
            f"`max_cost` of crew `{crew.name}` cannot be kept: the price of the model `{model}` is unknown. Tell it, in USD per "
            f'million tokens: `crewgraph.llm.prices.register("{model}", input=..., output=...)`, `LLM(..., price={{"input": ..., '
            '"output": ...})`, or a file in CREWGRAPH_PRICES; a price of 0 is one, too.'
        )


def _priced(model: str, tokens: Mapping[str, int]) -> str:
    price: Price | None = price_of(model)
    if price is None:
        return ""
    ledger = UsageLedger()
    ledger.add({model: tokens})
    return f" ({_usd(price.of(total(ledger.told.values())))})"


def _usd(amount: float) -> str:
    return f"${amount:,.4f}"


_AMOUNTS: dict[str, Callable[[float], str]] = {
    "max_tokens": lambda amount: f"{amount:,} tokens",
    "max_cost": _usd,
    "max_seconds": lambda amount: f"{amount:.1f} seconds",
}
