"""Tokens: what providers report, in the words each of them uses, as one kind of record and as sums.

Who was asked how much: usage by the name of the model.

Sums of what models reported while some code ran, over all that asked them.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from threading import Lock
from typing import Any, Self, cast

from pydantic import BaseModel

from crewgraph.core.messages import Reply, Usage
from crewgraph.core.protocols import Model

__all__ = ["TALLIES", "Tally", "UsageLedger", "UsageMetrics", "plain_usage", "read_usage", "total"]


class UsageMetrics(BaseModel):
    """Tokens and requests, summed over any number of requests."""

    total_tokens: int = 0
    """Tokens read and written."""

    prompt_tokens: int = 0
    """Tokens read, those from a cache included."""

    cached_prompt_tokens: int = 0
    """Tokens read from a provider's cache."""

    completion_tokens: int = 0
    """Tokens written, those of reasoning included."""

    reasoning_tokens: int = 0
    """Tokens written while reasoning."""

    cache_creation_tokens: int = 0
    """Tokens that were put into a provider's cache."""

    successful_requests: int = 0
    """Requests that were answered."""

    @classmethod
    def of(cls, usage: Usage | None) -> Self:
        """The sum of one answered request; None where nothing was reported counts the request alone."""
        return cls.model_validate({**(usage or {}), "successful_requests": 1})

    @classmethod
    def from_provider_dict(cls, usage_data: Mapping[str, Any] | None) -> Self | None:
        """The sum of one request from a provider's own dict; None where it holds nothing known."""
        usage = read_usage(usage_data)
        return None if usage is None else cls.of(usage)

    def count(self, usage: Usage | None) -> None:
        """Add one answered request, in place; None where nothing was reported counts the request alone."""
        sums = vars(self)  # setattr of a model costs more than all else of counting
        sums["successful_requests"] += 1
        for name, tokens in (usage or {}).items():
            sums[name] += tokens

    def add_usage_metrics(self, usage_metrics: Self) -> None:
        """Add another sum to this one, in place."""
        sums, more = vars(self), vars(usage_metrics)
        for name in UsageMetrics.model_fields:
            sums[name] += more[name]

    def delta_since(self, baseline: Self) -> Self:
        """What was added since an earlier sum; never below zero."""
        return type(self)(
            **{name: max(0, getattr(self, name) - getattr(baseline, name)) for name in UsageMetrics.model_fields}
        )

    def __add__(self, other: Self) -> Self:
        total = self.model_copy()
        total.add_usage_metrics(other)
        return total


_Paths = tuple[tuple[str, ...], ...]

_PROMPT: _Paths = (("prompt_tokens",), ("input_tokens",), ("prompt_token_count",), ("prompt_eval_count",))
_COMPLETION: _Paths = (
    ("completion_tokens",),
    ("output_tokens",),
    ("candidates_token_count",),
    ("eval_count",),
)
_TOTAL: _Paths = (("total_tokens",), ("total_token_count",))
_CACHED: _Paths = (
    ("prompt_tokens_details", "cached_tokens"),
    ("input_tokens_details", "cached_tokens"),
    ("input_token_details", "cache_read"),
    ("cache_read_input_tokens",),
    ("cached_prompt_tokens",),
    ("cached_tokens",),
    ("prompt_cache_hit_tokens",),
    ("cached_content_token_count",),
)
_REASONING: _Paths = (
    ("completion_tokens_details", "reasoning_tokens"),
    ("output_tokens_details", "reasoning_tokens"),
    ("output_token_details", "reasoning"),
    ("reasoning_tokens",),
    ("thoughts_token_count",),
)
_CREATED: _Paths = (
    ("input_token_details", "cache_creation"),
    ("cache_creation_input_tokens",),
    ("cache_creation_tokens",),
)


def read_usage(reported: object) -> Usage | None:
    """One request's tokens from what a provider or LangChain reported.

    Args:
        reported: a dict, a pydantic model or an object with attributes; OpenAI's, Anthropic's, Gemini's,
            Ollama's and LangChain's names are known. Numbers that are missing or no numbers count as 0.

    Returns:
        None where nothing known was reported.
    """
    prompt, completion = _number(reported, _PROMPT), _number(reported, _COMPLETION)
    total = _number(reported, _TOTAL)
    if prompt is None and completion is None and total is None:
        return None
    return {
        "prompt_tokens": prompt or 0,
        "completion_tokens": completion or 0,
        "total_tokens": total or (prompt or 0) + (completion or 0),
        "cached_prompt_tokens": _number(reported, _CACHED) or 0,
        "reasoning_tokens": _number(reported, _REASONING) or 0,
        "cache_creation_tokens": _number(reported, _CREATED) or 0,
    }


def _number(reported: object, paths: _Paths) -> int | None:
    for path in paths:
        found = reported
        for name in path:
            found = _item(found, name)
        if isinstance(found, (int, float)) and not isinstance(found, bool) and found >= 0:
            return int(found)
    return None


def _item(holder: object, name: str) -> object:
    if isinstance(holder, Mapping):
        return cast("Mapping[str, object]", holder).get(name)
    return None if holder is None else getattr(holder, name, None)


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


class Tally:
    """A sum that several threads add to."""

    def __init__(self) -> None:
        self._sum, self._lock = UsageMetrics(), Lock()

    def count(self, usage: Usage | None) -> None:
        """Add one answered request; None where nothing was reported counts the request alone."""
        with self._lock:
            self._sum.count(usage)

    @property
    def total(self) -> UsageMetrics:
        """The sum so far."""
        with self._lock:
            return self._sum.model_copy()


TALLIES: ContextVar[tuple[Tally, ...]] = ContextVar("crewgraph_tallies", default=())
"""Those that the requests of the running code count in."""
