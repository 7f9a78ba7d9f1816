"""The compiled graph of a crew, whose runs are metered and stop when a budget of the crew is used up.

This also holds where other code invokes the graph, or uses it as a node.
"""

import time
import warnings
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from threading import RLock
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateUpdate

from crewgraph.compiler.crew.graph import check_continues, node_task
from crewgraph.compiler.crew.inputs import CrewInput, CrewRunContext, read_context
from crewgraph.compiler.crew.result import as_declared
from crewgraph.compiler.crew.state import MESSAGES, UPDATES
from crewgraph.compiler.enclosing import is_node
from crewgraph.core.current import CURRENT
from crewgraph.core.limits import Meter, Place, Stopped
from crewgraph.core.node import ActiveNodes
from crewgraph.core.operations import Program
from crewgraph.core.pregel import InlineGraph, named_run, place_of, types_around
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.fields import BUDGETS, validate_budget
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import BudgetExceeded, UnknownPrice
from crewgraph.llm.prices import cost, price_of
from crewgraph.llm.resolve import as_model
from crewgraph.llm.usage import UsageLedger, UsageMetrics
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.scoped import give_back, scoped
from crewgraph.storage.claims.owned_graph import CHECK, OwnedGraph

_MAX_LISTED = 5


class RunMeter(ActiveNodes):
    """The usage of a run of a crew, in this process and before.

    Args:
        crew: the crew; its budgets are read whenever they are checked.
        parent: the meter of the enclosing run.
        resumed: whether the run may continue one from an earlier process.
        thread: the thread id; None if the run has no separate thread.
        checkpointed: whether the run is checkpointed.
        context: the run's LangGraph context; its limits override the crew's.
        node: the namespace of the node that the crew is in a graph around it.
        keys: what tools may update of the states.
    """

    def __init__(
        self,
        crew: CrewDefinition,
        parent: Meter | None,
        *,
        resumed: bool,
        thread: str | None,
        checkpointed: bool,
        context: CrewRunContext | None = None,
        node: str | None = None,
        keys: Collection[str] = (),
    ) -> None:
        super().__init__(parent)
        self.context, self.model, self.node = context, None if context is None else context.model, node
        self.keys = keys
        check_budgets(crew)
        self.crew, self.resumed, self.thread, self.checkpointed = crew, resumed, thread, checkpointed
        self._started_at, self._seconds_before = time.monotonic(), 0.0
        self._first_checkpoints: dict[str, str] = {}
        self._models_without_usage: set[str] = set()
        self._charged: set[Place] = set()
        self._lock = RLock()

    @property
    def run(self) -> "RunMeter":
        return self

    @property
    def clock(self) -> float:
        return self._seconds_before + time.monotonic() - self._started_at

    @property
    def deadline(self) -> float | None:
        seconds = self.crew.max_seconds if self.context is None else self.limit("max_seconds")
        outer = None if self.around is None else self.around.deadline
        if seconds is None:
            return outer
        own_deadline = self._started_at + seconds - self._seconds_before
        return own_deadline if outer is None else min(own_deadline, outer)

    def recalls(self, place: Place, above: Iterable[Place]) -> bool:
        with self._lock:
            # The first checkpoint seen of each graph is the one it was resumed at; later ones are from this process.
            first = all(self._first_checkpoints.setdefault(namespace, name) == name for namespace, name in above)
            return self.resumed and first and place not in self._charged

    def hear(self, place: Place, before: Meter, charge: Callable[[], None]) -> None:
        with self._lock:
            if place not in self._charged:
                self._charged.add(place)
                self._seconds_before = max(self._seconds_before, before.at)
                charge()

    def add(self, entries: Sequence[Any]) -> None:
        super().add(entries)
        if self.context is None and self.crew.max_tokens is None and self.crew.max_cost is None:
            return
        for _, model, tokens in entries:
            is_silent = tokens.get("successful_requests") and not tokens.get("total_tokens")
            if is_silent and model not in self._models_without_usage:
                self._models_without_usage.add(model)
                warnings.warn(
                    f"the model `{model}` does not report how many tokens it uses: its requests do not count for the budgets of "
                    f"crew `{self.crew.name}`. A `BaseLLM` of your own reports them with `_track_token_usage_internal`.",
                    stacklevel=user_stacklevel(),
                )

    def check(self, model: str | None) -> None:
        crew = self.crew
        if self.context is None and crew.max_tokens is None and crew.max_cost is None and crew.max_seconds is None:
            return
        if self.limit("max_cost") is not None:
            names = [name for _, name, _ in self.entries] + ([model] if model else [])
            for name in dict.fromkeys(names):
                if price_of(name) is None:
                    raise Stopped(self, partial(unknown_price, self.crew, name))
        for budget in BUDGETS:
            limit = self.limit(budget)
            if limit is not None and self.spent(budget) >= limit:
                raise Stopped(self, partial(self._exceeded, budget, limit))

    def limit(self, budget: str) -> float | None:
        """Return a limit of the run: that of its context, else the crew's."""
        given: float | None = None if self.context is None else getattr(self.context, budget)
        return getattr(self.crew, budget) if given is None else given

    def error_of(self, stop: Stopped) -> BaseException:
        """Return what the run raises for a limit that was reached: its own error, or the same for an enclosing run's."""
        return stop.why() if stop.meter is self else stop

    def spent(self, budget: str) -> float:
        """Return what was spent of a budget, in tokens, USD or seconds."""
        if budget == "max_seconds":
            return self.clock
        ledger = UsageLedger(self.entries)
        if budget == "max_tokens":
            return ledger.total.total_tokens
        return sum(
            price.of(usage) for model, usage in ledger.by_model.items() if (price := price_of(model)) is not None
        )

    def _exceeded(self, budget: str, limit: float) -> BudgetExceeded:
        amount, spent = _AMOUNTS[budget], self.spent(budget)
        crew = f"crew `{self.crew.name}`" if self.crew.name else "the crew"
        if self.thread is not None:
            advice = f'Raise it (`crew.{budget} = ...`) and continue with `crew.resume("{self.thread}")`'
        elif self.checkpointed:
            advice = f"Raise it (`crew.{budget} = ...`) and resume the graph around it"
        else:
            advice = f"It was not checkpointed (`checkpointer=False`): raise `{budget}` and start again"
        resumable = ", which repeats nothing and counts what was spent before" if self.checkpointed else ""
        return BudgetExceeded(
            f"the run of {crew} stopped: {amount(spent)} are spent, and its `{budget}` is {amount(limit)}. "
            f"{self._usage_summary()}{advice}{resumable}.",
            budget=budget,
            spent=spent,
            limit=limit,
            thread_id=self.thread,
            used=self._usage_by_agent(),
        )

    def _usage_by_agent(self) -> dict[str, dict[str, UsageMetrics]]:
        entries = self.entries
        return {
            who: UsageLedger(entry for entry in entries if entry[0] == who).by_model
            for who in dict.fromkeys(who for who, _, _ in entries)
        }

    def _usage_summary(self) -> str:
        used = sorted(self.entries, key=lambda entry: -entry[2].get("total_tokens", 0))
        lines = [
            f"{' '.join(who.split()) or 'others'} {tokens.get('total_tokens', 0):,} tokens in "
            f"{_request_count(tokens.get('successful_requests', 0))} to `{model}`{_price_note(model, tokens)}"
            for who, model, tokens in used[:_MAX_LISTED]
        ]
        more = [f"{len(used) - _MAX_LISTED} more"] if len(used) > _MAX_LISTED else []
        return f"Used by: {'; '.join([*lines, *more])}. " if lines else ""


def check_budgets(crew: CrewDefinition) -> None:
    """Check the budgets of a crew, which may have changed since it was created.

    Raises:
        ValueError: one is invalid.
    """
    for name in BUDGETS:
        if (budget := getattr(crew, name)) is not None:
            validate_budget(name, budget)


def check_prices(crew: CrewDefinition, agents: Iterable[BaseAgentDefinition]) -> None:
    """Check before a run that the cost budget of a crew can be enforced with the models of the agents. It must have one.

    Raises:
        UnknownPrice: the price of a model is unknown.
    """
    from crewgraph.llm.fallback import FallbackModel

    for llm in {id(agent.llm): agent.llm for agent in agents if agent.llm is not None}.values():
        model = as_model(llm)
        for candidate in model.models if isinstance(model, FallbackModel) else [model]:
            if price_of(candidate.name) is None:
                raise unknown_price(crew, candidate.name)


def unknown_price(crew: CrewDefinition, model: str) -> UnknownPrice:
    """Return the error for a model without a price in a run with a cost budget."""
    return UnknownPrice(
        f"`max_cost` of crew `{crew.name}` cannot be enforced: the price of the model `{model}` is unknown. Set it, in USD per "
        f'million tokens: `crewgraph.llm.prices.register("{model}", input=..., output=...)`, `LLM(..., price={{"input": ..., '
        '"output": ...})`, or a file in CREWGRAPH_PRICES; a price of 0 is one, too.'
    )


def _price_note(model: str, tokens: Mapping[str, int]) -> str:
    usd = cost({model: UsageMetrics.model_validate(tokens)})
    return "" if usd is None else f" ({_usd(usd)})"


def _request_count(number: int) -> str:
    return f"{number} request" if number == 1 else f"{number} requests"


def _usd(amount: float) -> str:
    return f"${amount:,.6f}"


_AMOUNTS: dict[str, Callable[[float], str]] = {
    "max_tokens": lambda amount: f"{amount:,} tokens",
    "max_cost": _usd,
    "max_seconds": lambda amount: f"{amount:.1f} seconds",
}


def metered(
    graph: "CompiledStateGraph[Any]",
    crew: CrewDefinition,
    input_form: CrewInput | None = None,
    run_name: str | None = None,
) -> "MeteredGraph":
    """Return a crew's compiled graph with metered runs.

    Args:
        graph: the graph.
        crew: the crew.
        input_form: validates the caller's input; None for the graphs of kickoffs, which have checked their inputs.
        run_name: the name of its runs in traces; None for the name in their config.
    """
    return MeteredGraph(crew=crew, input_form=input_form, run_name=run_name, **vars(graph))


class MeteredGraph(OwnedGraph, InlineGraph):
    """The compiled graph of a crew, with metered runs.

    Args:
        crew: the crew.
        input_form: validates the caller's input.
        run_name: the name of its runs in traces.
        attributes: the attributes of the `CompiledStateGraph`.
    """

    def __init__(
        self,
        *,
        crew: CrewDefinition,
        input_form: CrewInput | None = None,
        run_name: str | None = None,
        **attributes: object,
    ) -> None:
        super().__init__(**attributes)
        # In `vars`, so that LangGraph's `copy` passes them to `__init__`.
        self.crew, self.input_form, self.run_name = crew, input_form, run_name

    def _repr_mimebundle_(self, include: object = None, exclude: object = None, **kwargs: object) -> dict[str, str]:
        """Return the representations for notebooks, drawn here; LangGraph would ask a server on the network for a picture."""
        drawn: Any = self.crew  # a `Crew`, which can draw itself
        return {
            "text/plain": repr(self),
            "text/html": drawn._repr_html_(),
            "text/markdown": f"```mermaid\n{drawn.to_mermaid()}```\n",
        }

    def get_input_jsonschema(self, config: RunnableConfig | None = None) -> dict[str, Any]:
        """Return the JSON schema of the input: the crew's placeholders; see LangGraph."""
        if self.input_form is None:
            return super().get_input_jsonschema(config)
        return self.input_form.json_schema()

    def bulk_update_state(self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]) -> RunnableConfig:
        """Edit a state; see LangGraph. Inputs are of the types that `invoke` takes."""
        return super().bulk_update_state(config, self._edited(supersteps))

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Async version of `bulk_update_state`."""
        return await super().abulk_update_state(config, self._edited(supersteps))

    def _edited(self, supersteps: Sequence[Sequence[StateUpdate]]) -> Sequence[Sequence[StateUpdate]]:
        form = self.input_form
        if form is None:
            return supersteps
        return [
            [update._replace(values=cast("Any", form.read_update(update.values))) for update in step]
            for step in supersteps
        ]

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the graph and return its state; as a node of another graph, as that graph's state declares it."""
        return as_declared(super().invoke(input, config, **self._with_updates(config, kwargs)), config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Async version of `invoke`."""
        return as_declared(await super().ainvoke(input, config, **self._with_updates(config, kwargs)), config)

    def _with_updates(self, config: RunnableConfig | None, options: PlainDict) -> PlainDict:
        is_read = is_node(config) and UPDATES in self.channels
        return {"output_keys": [*self.output_channels, UPDATES], **options} if is_read else options

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Run the graph and stream its parts; see LangGraph.

        Raises:
            BudgetExceeded: the run has used up a budget of the crew.
        """
        input, meter = self._opened(input, config, kwargs.get("context"))
        config = self._checked(input, config) if meter.resumed else config
        config = config if self.run_name is None else named_run(config, self.run_name)
        steps = cast("Any", super().stream(input, config, **kwargs))
        try:
            while True:
                token = CURRENT.set(CURRENT.get()._replace(meter=meter))
                try:
                    part = next(steps, _END)
                except Stopped as stop:
                    raise meter.error_of(stop) from None
                finally:
                    give_back(token)
                if part is _END:
                    return
                yield part
        finally:
            with scoped(CURRENT, CURRENT.get()._replace(meter=meter)):
                steps.close()

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Async version of `stream`.

        Raises:
            BudgetExceeded: the run has used up a budget of the crew.
        """
        input, meter = self._opened(input, config, kwargs.get("context"))
        config = self._checked(input, config) if meter.resumed else config
        config = config if self.run_name is None else named_run(config, self.run_name)
        steps = cast("Any", super().astream(input, config, **kwargs))
        try:
            while True:
                token = CURRENT.set(CURRENT.get()._replace(meter=meter))
                try:
                    part = await anext(steps, _END)
                except Stopped as stop:
                    raise meter.error_of(stop) from None
                finally:
                    give_back(token)
                if part is _END:
                    return
                yield part
        finally:
            with scoped(CURRENT, CURRENT.get()._replace(meter=meter)):
                await steps.aclose()

    def check_input(self, value: object, context: object = None) -> None:
        """Raise what a run with this input and context would raise before its first step."""
        self._opened(value, None, context)

    def _opened(self, input: object, config: RunnableConfig | None, context: object = None) -> tuple[object, RunMeter]:
        """Return the input as the nodes take it, and the meter of the run."""
        parent, current = var_child_runnable_config.get() or {}, config or {}
        merged: PlainDict = {**parent.get("configurable", {}), **current.get("configurable", {})}
        place = place_of({"configurable": merged})
        stored = place.saver is not None if self.checkpointer in (None, True) else self.checkpointer is not False
        # Another schema is the caller's own, for its tools; a node of a larger graph is not the one that it was given to.
        own = (
            read_context(context) if cast("object", self.context_schema) is CrewRunContext and not place.task else None
        )
        if self.input_form is not None and isinstance(input, Command):
            input = self.input_form.read_command(cast("Command[Any]", input))
        elif self.input_form is not None and input is not None:
            input = (
                self.input_form.read_state(input)
                if is_node(config)
                else self.input_form.read(input, {} if own is None else own.inputs)
            )
        is_resumed = input is None or isinstance(input, Command) or place.again
        meter = RunMeter(
            self.crew,
            CURRENT.get().meter,
            resumed=is_resumed,
            thread=place.thread or None if stored and not place.task else None,
            checkpointed=stored,
            context=own,
            keys={*types_around(config or {}), *({MESSAGES} & self.channels.keys())} if self.input_form else (),
            node=merged.get("checkpoint_ns") if place.task and self.input_form is not None else None,
        )
        return cast("object", input), meter

    def _checked(self, input: object, config: RunnableConfig | None) -> RunnableConfig | None:
        """Return the config of a run that may continue a stored one, which another version of the crew may have begun."""
        if self.input_form is None:
            return config  # checked by `resume`
        place: PlainMapping = (config or {}).get("configurable") or {}
        return {**(config or {}), "configurable": {**place, CHECK: partial(self._check_stored, input)}}

    def _check_stored(
        self, input: object, _saver: object, _place: PlainMapping, saved: CheckpointTuple | None
    ) -> Program[None]:
        yield from ()
        if saved is None:
            if self.input_form is not None and isinstance(input, Command):
                self.input_form.check_begun(cast("object", input.update))
            return
        if isinstance(input, Command) and input.goto:
            return  # continued where the caller says
        # A caller may have left tasks out with `update_state(as_node=...)`: such nodes are among those that have been seen.
        checkpoint = saved.checkpoint
        done = {*map(node_task, checkpoint["versions_seen"]), *checkpoint["channel_values"]}
        check_continues(self, saved, done, can_fork=False)


_END: object = object()
