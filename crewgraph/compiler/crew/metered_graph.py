"""The graph of a crew, each of whose runs has a meter: also where somebody else invokes it, or it is a node of another graph.

The budgets of a run: what it has spent, and that it stops once one of them is used up.
"""

import time
import warnings
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from threading import RLock
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from crewgraph.core.draining import ActiveNodes
from crewgraph.core.limits import METER, Meter, Place, Stopped, metering
from crewgraph.core.pregel import place_of
from crewgraph.core.saving import InlineGraph
from crewgraph.definitions.agent.agent import BaseAgent
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.fields import BUDGETS, validate_budget
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import BudgetExceeded, UnknownPrice
from crewgraph.llm.fallback import FallbackModel
from crewgraph.llm.prices import cost, price_of
from crewgraph.llm.resolve import as_model
from crewgraph.llm.usage import UsageLedger, UsageMetrics

__all__ = ["MeteredGraph", "RunMeter", "check_prices", "metered", "unknown_price"]


_MOST_TOLD = 5


class RunMeter(ActiveNodes):
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
            validate_budget(name, getattr(crew, name))  # it may have been changed since it was made
        self.crew, self.resumed, self.thread, self.kept = crew, resumed, thread, kept
        self._began, self._before = time.monotonic(), 0.0
        self._begun: dict[str, str] = {}
        self._silent: set[str] = set()
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

    def add(self, used: Iterable[Any]) -> None:
        told = list(used)
        super().add(told)
        if self.crew.max_tokens is None and self.crew.max_cost is None:
            return
        for _, model, tokens in told:
            if not tokens.get("total_tokens") and model not in self._silent:
                self._silent.add(model)
                warnings.warn(
                    f"the model `{model}` does not tell how many tokens it uses: its requests do not count for the budgets of "
                    f"crew `{self.crew.name}`. A `BaseLLM` of your own tells them with `_track_token_usage_internal`.",
                    stacklevel=user_stacklevel(),
                )

    def check(self, model: str | None) -> None:
        crew = self.crew
        if crew.max_cost is not None:
            self._check_prices(model)
        for budget in BUDGETS:
            limit = getattr(crew, budget)
            if limit is not None and self.spent(budget) >= limit:
                raise Stopped(self, partial(self._exceeded, budget, limit))

    def spent(self, budget: str) -> float:
        """What is spent of a budget: tokens, USD or seconds."""
        if budget == "max_seconds":
            return self.clock
        ledger = UsageLedger(self.used)
        return ledger.total.total_tokens if budget == "max_tokens" else _usd_of(ledger.by_model)

    def _check_prices(self, model: str | None) -> None:
        asked = [name for _, name, _ in self.used] + ([model] if model else [])
        for name in dict.fromkeys(asked):
            if price_of(name) is None:
                raise Stopped(self, partial(unknown_price, self.crew, name))

    def _exceeded(self, budget: str, limit: float) -> BudgetExceeded:
        amount, spent = _AMOUNTS[budget], self.spent(budget)
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
        entries = self.used
        return {
            who: UsageLedger(entry for entry in entries if entry[0] == who).by_model
            for who in dict.fromkeys(who for who, _, _ in entries)
        }

    def _by_whom(self) -> str:
        used = sorted(self.used, key=lambda one: -one[2].get("total_tokens", 0))
        told = [
            f"{' '.join(who.split()) or 'others'} {tokens.get('total_tokens', 0):,} tokens in "
            f"{_requests(tokens.get('successful_requests', 0))} to `{model}`{_priced(model, tokens)}"
            for who, model, tokens in used[:_MOST_TOLD]
        ]
        more = [f"{len(used) - _MOST_TOLD} more"] if len(used) > _MOST_TOLD else []
        return f"Used by: {'; '.join([*told, *more])}. " if told else ""


def check_prices(crew: Crew, agents: Iterable[BaseAgent]) -> None:
    """Look, before anything is done, whether the crew's budget in USD can be kept with the models of its agents.

    Raises:
        ValueError: a budget is none; it was changed since the crew was made.
        UnknownPrice: it cannot.
    """
    for name in BUDGETS:
        validate_budget(name, getattr(crew, name))
    if crew.max_cost is None:
        return
    for llm in {id(agent.llm): agent.llm for agent in agents if agent.llm is not None}.values():
        model = as_model(llm)
        for one in model.models if isinstance(model, FallbackModel) else [model]:
            if price_of(one.name) is None:
                raise unknown_price(crew, one.name)


def unknown_price(crew: Crew, model: str) -> UnknownPrice:
    """What a run with a budget in USD raises that is to ask a model without a price."""
    return UnknownPrice(
        f"`max_cost` of crew `{crew.name}` cannot be kept: the price of the model `{model}` is unknown. Tell it, in USD per "
        f'million tokens: `crewgraph.llm.prices.register("{model}", input=..., output=...)`, `LLM(..., price={{"input": ..., '
        '"output": ...}})`, or a file in CREWGRAPH_PRICES; a price of 0 is one, too.'
    )


def _priced(model: str, tokens: Mapping[str, int]) -> str:
    usd = cost({model: UsageMetrics.model_validate(tokens)})
    return "" if usd is None else f" ({_usd(usd)})"


def _requests(number: int) -> str:
    return f"{number} request" if number == 1 else f"{number} requests"


def _usd_of(used: Mapping[str, UsageMetrics]) -> float:
    return sum(price.of(usage) for model, usage in used.items() if (price := price_of(model)) is not None)


def _usd(amount: float) -> str:
    return f"${amount:,.6f}"


_AMOUNTS: dict[str, Callable[[float], str]] = {
    "max_tokens": lambda amount: f"{amount:,} tokens",
    "max_cost": _usd,
    "max_seconds": lambda amount: f"{amount:.1f} seconds",
}


def metered(graph: "CompiledStateGraph[Any, Any, Any, Any]", crew: Crew) -> "MeteredGraph":
    """A crew's compiled graph, whose runs keep to the crew's budgets."""
    return MeteredGraph(crew=crew, **vars(graph))


class MeteredGraph(InlineGraph):
    """The compiled graph of a crew.

    Args:
        crew: the crew.
        kept: what makes a `CompiledStateGraph`.
    """

    def __init__(self, *, crew: Crew, **kept: Any) -> None:
        super().__init__(**kept)
        self.crew = crew  # what stands in `vars` is what LangGraph's `copy` gives to this again

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Run, and tell; see LangGraph.

        Raises:
            BudgetExceeded: the run has used up a budget of the crew.
        """
        meter, steps = self._meter(input, config), cast("Any", super().stream(input, config, **kwargs))
        try:
            while True:
                with _measured(meter):
                    part = next(steps, _END)
                if part is _END:
                    return
                yield part
        finally:
            with metering(meter):
                steps.close()

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Run on this event loop, and tell; see LangGraph.

        Raises:
            BudgetExceeded: the run has used up a budget of the crew.
        """
        meter, steps = self._meter(input, config), cast("Any", super().astream(input, config, **kwargs))
        try:
            while True:
                with _measured(meter):
                    part = await anext(steps, _END)
                if part is _END:
                    return
                yield part
        finally:
            with metering(meter):
                await steps.aclose()

    def _meter(self, given: Any, config: RunnableConfig | None) -> RunMeter:
        around, own = var_child_runnable_config.get() or {}, config or {}
        place = place_of({"configurable": {**around.get("configurable", {}), **own.get("configurable", {})}})
        kept = place.saver is not None if self.checkpointer in (None, True) else self.checkpointer is not False
        return RunMeter(
            self.crew,
            METER.get(),
            resumed=given is None or isinstance(given, Command) or place.again,
            thread=place.thread or None if kept and not place.task else None,
            kept=kept,
        )


_END: Any = object()


@contextmanager
def _measured(meter: RunMeter) -> Generator[None]:
    """A step of the run; a stop for its own budgets is told as the error it is."""
    try:
        with metering(meter):
            yield
    except Stopped as stop:
        if stop.meter is not meter:
            raise
        raise stop.why() from None
