"""Token usage: `read_usage` parses what providers report, `UsageMetrics` sums it, `UsageLedger` groups it by model and agent."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, cast

from pydantic import BaseModel

from crewgraph.core.limits import UsageCounter, UsageEntry, request_entry
from crewgraph.core.messages import Reply, Usage
from crewgraph.core.protocols import Model
from crewgraph.llm.current_call import CALL
from crewgraph.schema import PlainDict, PlainMapping, get_field, trusted


class UsageMetrics(BaseModel):
    """Token and request counts over any number of requests."""

    total_tokens: int = 0
    """Prompt and completion tokens."""

    prompt_tokens: int = 0
    """Input tokens, including cached ones."""

    cached_prompt_tokens: int = 0
    """Input tokens read from the provider's cache."""

    completion_tokens: int = 0
    """Output tokens, including reasoning."""

    reasoning_tokens: int = 0
    """Output tokens spent on reasoning."""

    cache_creation_tokens: int = 0
    """Input tokens written to the provider's cache."""

    successful_requests: int = 0
    """Number of answered requests."""

    @classmethod
    def of(cls, usage: Usage | None) -> Self:
        """Return the metrics of one answered request; None (nothing reported) counts only the request."""
        return cls.model_validate({**(usage or {}), "successful_requests": 1})

    @classmethod
    def of_tokens(cls, tokens: Mapping[str, int]) -> Self:
        """Return the metrics of these sums by field, which are numbers; others than the fields are left out."""
        if tokens.keys() <= _NOTHING.keys():
            return trusted(cls, {**_NOTHING, **tokens})
        return cls.model_validate(tokens)

    @classmethod
    def from_provider_dict(cls, usage_data: Mapping[str, object] | None) -> Self | None:
        """Return the metrics of one request from a provider's usage dict; None if it has no known keys."""
        usage = read_usage(usage_data)
        return None if usage is None else cls.of(usage)

    def add_usage_metrics(self, usage_metrics: Self) -> None:
        """Add other metrics in place."""
        sums, more = vars(self), vars(usage_metrics)  # `setattr` on a pydantic model would dominate the cost
        for name in _NOTHING:
            sums[name] += more[name]

    def delta_since(self, baseline: Self) -> Self:
        """Return the difference to earlier metrics, never below zero."""
        return type(self)(
            **{name: max(0, getattr(self, name) - getattr(baseline, name)) for name in UsageMetrics.model_fields}
        )

    def __add__(self, other: Self) -> Self:
        total = self.model_copy()
        total.add_usage_metrics(other)
        return total


_NOTHING = dict.fromkeys(UsageMetrics.model_fields, 0)
_PATHS: Mapping[str, list[list[str]]] = {
    field: [path.split(".") for path in paths.split()]
    for field, paths in {
        "prompt_tokens": "prompt_tokens input_tokens prompt_token_count prompt_eval_count",
        "completion_tokens": "completion_tokens output_tokens candidates_token_count eval_count",
        "total_tokens": "total_tokens total_token_count",
        "cached_prompt_tokens": (
            "prompt_tokens_details.cached_tokens input_tokens_details.cached_tokens input_token_details.cache_read "
            "cache_read_input_tokens cached_prompt_tokens cached_tokens prompt_cache_hit_tokens cached_content_token_count"
        ),
        "reasoning_tokens": (
            "completion_tokens_details.reasoning_tokens output_tokens_details.reasoning_tokens "
            "output_token_details.reasoning reasoning_tokens thoughts_token_count"
        ),
        "cache_creation_tokens": (
            "input_token_details.cache_creation cache_creation_input_tokens cache_creation_tokens"
        ),
    }.items()
}
"""The names by which providers report each number, the first that is present counts."""


def read_usage(reported: object) -> Usage | None:
    """Parse the token usage of one request as reported by a provider or LangChain.

    Args:
        reported: A dict, a pydantic model or an object with attributes, with the names of OpenAI, Anthropic, Gemini,
            Ollama or LangChain. Missing and invalid numbers count as 0.

    Returns:
        The usage, or None if no known name is present.
    """
    if reported is None:
        return None
    reported_numbers = {field: _reported_number(reported, paths) for field, paths in _PATHS.items()}
    if all(reported_numbers[field] is None for field in ("prompt_tokens", "completion_tokens", "total_tokens")):
        return None
    usage: Any = {field: number or 0 for field, number in reported_numbers.items()}
    usage["total_tokens"] = usage["total_tokens"] or usage["prompt_tokens"] + usage["completion_tokens"]
    return usage


def read_langchain_usage(reported: object) -> Usage | None:
    """Parse the `usage_metadata` of a message; one from LangChain's cache, whose `total_cost` is 0, used nothing."""
    if reported is None or get_field(reported, "total_cost") != 0:
        return read_usage(reported)
    nothing = read_usage({"prompt_tokens": 0})
    return nothing and {**nothing, "from_cache": True}


def langchain_usage(usage: Usage | None) -> Any:
    """Return usage as LangChain's `usage_metadata`."""
    return usage and {
        "input_tokens": usage["prompt_tokens"],
        "output_tokens": usage["completion_tokens"],
        "total_tokens": usage["total_tokens"],
        "input_token_details": {
            "cache_read": usage["cached_prompt_tokens"],
            "cache_creation": usage["cache_creation_tokens"],
        },
        "output_token_details": {"reasoning": usage["reasoning_tokens"]},
    }


def _reported_number(reported: object, paths: Sequence[Sequence[str]]) -> int | None:
    for path in paths:
        value: object = reported
        for name in path:
            # Most are dicts, and most names are missing.
            value = cast("PlainDict", value).get(name) if type(value) is dict else get_field(value, name)
            if value is None:
                break
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
            return int(value)
    return None


class UsageLedger:
    """Usage by model name, because prices differ between models; thread-safe.

    Args:
        entries: The initial entries, from any agent.
    """

    def __init__(self, entries: Iterable[UsageEntry] = ()) -> None:
        self._counter = UsageCounter()
        self._coworkers: dict[str, UsageLedger] = {}
        self.message: tuple[str | None, Usage | None] = None, None
        """The id and the usage of LangChain's message with the latest reply."""
        self.updates: list[tuple[str, object]] | None = None
        """What tools write to the state of the graph, by key; None where nothing takes it."""
        if entries:
            self._counter.add([("", model, tokens) for _, model, tokens in entries])

    def count(self, model: str, usage: Usage | None) -> None:
        """Add one answered request; None (nothing reported) counts only the request."""
        self._counter.add([request_entry("", model, usage)])

    def answered(self, model: Model, reply: Reply) -> None:
        """Add a request that a model or one of its fallbacks answered."""
        for before, usage in reply.get("before", ()):
            self.count(before, usage)
        name = reply.get("model")
        self._counter.add([request_entry("", model.name if name is None else name, reply["usage"])])

    def failed(self, spent: PlainMapping) -> None:
        """Add what a failed request used all the same, as `EffectFailed.spent`: an answer that is not whole is paid, too."""
        self._counter.add([("", model, tokens) for _, model, tokens in spent.get("used", ())])

    def add(self, usage_by_model: Mapping[str, object]) -> None:
        """Add usage by model name, as metrics or as plain data."""
        metrics = {model: UsageMetrics.model_validate(usage) for model, usage in usage_by_model.items()}
        self._counter.add([("", model, tokens) for model, tokens in plain_usage(metrics).items()])

    def coworker(self, role: str) -> "UsageLedger":
        """Return the ledger of a coworker to whom work is delegated; its usage is included in this one."""
        ledger = self._coworkers.setdefault(role, UsageLedger())
        ledger.updates = self.updates
        return ledger

    @property
    def current(self) -> "UsageLedger":
        """The ledger to count in: a separate one during a tool call whose usage is stored with that call."""
        replaced = CALL.get().replaced
        return self if replaced is None or replaced[0] is not self else replaced[1]

    def to_tree(self) -> PlainDict:
        """Return plain data that `add_tree` accepts, with each coworker's usage apart."""
        own = {model: UsageMetrics.of_tokens(tokens) for _, model, tokens in self._counter.entries}
        coworkers = {role: tree for role, ledger in self._coworkers.items() if (tree := ledger.to_tree())}
        parts: PlainDict = {"models": plain_usage(own), "coworkers": coworkers}
        return {name: part for name, part in parts.items() if part}

    def add_tree(self, tree: PlainMapping) -> None:
        """Add what `to_tree` returned."""
        self.add(tree.get("models", {}))
        for role, part in tree.get("coworkers", {}).items():
            self.coworker(role).add_tree(part)

    def by_agent(self, role: str) -> dict[str, dict[str, UsageMetrics]]:
        """Return usage by role and model name; empty if no work was delegated.

        Args:
            role: The role of the agent that this ledger belongs to.
        """
        if not self._coworkers:
            return {}
        entries: dict[str, list[UsageEntry]] = {}
        for agent, ledger in self._parts(role):
            entries.setdefault(agent, []).extend(ledger._counter.entries)
        return {agent: UsageLedger(agent_entries).by_model for agent, agent_entries in entries.items()}

    def _parts(self, role: str) -> "Iterator[tuple[str, UsageLedger]]":
        yield role, self
        for who, ledger in self._coworkers.items():
            yield from ledger._parts(who)

    @property
    def by_model(self) -> dict[str, UsageMetrics]:
        """A snapshot of the usage by model name, including coworkers."""
        merged = self._counter
        if self._coworkers:
            merged = UsageCounter()
            for _, ledger in self._parts(""):
                merged.add(ledger._counter.entries)
        return {model: UsageMetrics.of_tokens(tokens) for _, model, tokens in merged.entries}

    @property
    def total(self) -> UsageMetrics:
        """The total over all models."""
        return total(self.by_model.values())

    def to_plain(self) -> dict[str, dict[str, int]]:
        """Return plain data that `add` accepts."""
        return plain_usage(self.by_model)


def plain_usage(by_model: Mapping[str, UsageMetrics]) -> dict[str, dict[str, int]]:
    """Return usage by model name as plain data without zeros."""
    plain: dict[str, dict[str, int]] = {}
    for model, usage in by_model.items():
        plain[model] = {name: number for name, number in vars(usage).items() if number}
    return plain


def total(parts: Iterable[UsageMetrics]) -> UsageMetrics:
    """Return the sum of metrics."""
    result = UsageMetrics.of_tokens({})
    for part in parts:
        result.add_usage_metrics(part)
    return result
