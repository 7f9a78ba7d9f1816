"""Prices of tokens by model: those of `genai-prices`, and a program's own, because providers change prices without notice."""

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from crewgraph.extras import load
from crewgraph.llm.usage import UsageMetrics
from crewgraph.settings import prices_file

_MILLION = 1_000_000
_DATE_SUFFIX = re.compile(r"[-@](\d{4}-\d{2}-\d{2}|\d{8}|latest)$")


class Price(BaseModel):
    """The price of a model, in USD per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0)
    """Input tokens."""

    output: float = Field(ge=0)
    """Output tokens, including reasoning."""

    cached_input: float | None = Field(default=None, ge=0)
    """Input tokens read from the provider's cache; None for the price of `input`."""

    cache_write: float | None = Field(default=None, ge=0)
    """Input tokens written to the cache; None for the price of `input`."""

    as_of: str | None = None
    """The month of the price list, such as "2026-06"."""

    def of(self, usage: UsageMetrics) -> float:
        """Return the cost of usage in USD."""
        uncached = max(0, usage.prompt_tokens - usage.cached_prompt_tokens - usage.cache_creation_tokens)
        cached = self.input if self.cached_input is None else self.cached_input
        written = self.input if self.cache_write is None else self.cache_write
        return (
            uncached * self.input
            + usage.cached_prompt_tokens * cached
            + usage.cache_creation_tokens * written
            + usage.completion_tokens * self.output
        ) / _MILLION


_TABLE = TypeAdapter(dict[str, Price])


@lru_cache(8)
def _parse(text: str) -> dict[str, Price]:
    return _TABLE.validate_json(text)


class _Prices:
    """The prices that this program registered."""

    def __init__(self) -> None:
        self.registered: dict[str, Price] = {}
        self.replaced = False
        """Whether they take the place of all others."""


_prices = _Prices()


@lru_cache(256)
def _listed_price(model: str) -> Price | None:
    """Return the price in `genai-prices`, without the surcharges for long prompts."""
    genai_prices: Any = load("genai_prices")
    try:
        listed = genai_prices.calc_price(
            genai_prices.Usage(input_tokens=0, output_tokens=0), model_ref=model
        ).model_price
    except LookupError:
        return None
    names = {"input": "input", "output": "output", "cached_input": "cache_read", "cache_write": "cache_write"}
    prices = {name: getattr(listed, f"{theirs}_mtok", None) for name, theirs in names.items()}
    if prices["input"] is None or prices["output"] is None:  # not priced by tokens alone
        return None
    return Price.model_validate({name: getattr(price, "base", price) for name, price in prices.items()})


def _user_prices() -> dict[str, Price]:
    path = prices_file()
    if path is None:
        return {}
    try:
        return _parse(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        raise ValueError(
            f"the prices in CREWGRAPH_PRICES={str(path)!r} cannot be read: {error}. Provide a JSON file with USD per million "
            'tokens: {"my-model": {"input": 1.25, "cached_input": 0.125, "output": 10}}'
        ) from error


def price_of(model: str) -> Price | None:
    """Return the price of a model by its name at the provider; None if it is unknown.

    A date at the end of the name is ignored if there is no price for the dated name.

    Raises:
        ValueError: The file that CREWGRAPH_PRICES names cannot be read.
    """
    names = (model, _DATE_SUFFIX.sub("", model))
    for table in [_prices.registered] if _prices.replaced else [_prices.registered, _user_prices()]:
        for name in names:
            if name in table:
                return table[name]
    return None if _prices.replaced else next(filter(None, map(_listed_price, names)), None)


def register(
    model: str,
    *,
    input: float,
    output: float,
    cached_input: float | None = None,
    cache_write: float | None = None,
) -> None:
    """Register the price of a model in USD per million tokens; it takes precedence over all others.

        register("llama3.1", input=0, output=0)

    Raises:
        pydantic.ValidationError: A price is negative.
    """
    set_price(model, Price(input=input, output=output, cached_input=cached_input, cache_write=cache_write))


def set_price(model: str, price: Price) -> None:
    """Register a `Price` for a model."""
    _prices.registered = {**_prices.registered, model: price}


def replace(prices: Mapping[str, Price | Mapping[str, object]] | None) -> None:
    """Replace all prices; None restores the defaults and drops registered prices.

    Raises:
        pydantic.ValidationError: A value is not a valid `Price`.
    """
    _prices.registered = {} if prices is None else _TABLE.validate_python(dict(prices))
    _prices.replaced = prices is not None


def cost(by_model: Mapping[str, UsageMetrics]) -> float | None:
    """Return the cost of usage in USD; None if the price or the usage of a model is unknown."""
    total = 0.0
    for model, usage in by_model.items():
        if not usage.successful_requests and not usage.total_tokens:  # answered from a cache
            continue
        price = price_of(model)
        if price is None or not usage.total_tokens:
            return None
        total += price.of(usage)
    return total
