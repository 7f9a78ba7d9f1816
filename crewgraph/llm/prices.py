"""What tokens cost: a table of prices by model, which users replace, for providers change them without notice."""

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from crewgraph.llm.usage import UsageMetrics
from crewgraph.settings import prices_file

__all__ = ["Price", "cost", "price_of", "register", "replace", "set_price"]

_MILLION = 1_000_000
_DATE_SUFFIX = re.compile(r"[-@](\d{4}-\d{2}-\d{2}|\d{8}|latest)$")


class Price(BaseModel):
    """What a model's tokens cost, in USD per million of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0)
    """Tokens read."""

    output: float = Field(ge=0)
    """Tokens written, those of reasoning included."""

    cached_input: float | None = Field(default=None, ge=0)
    """Tokens read from the provider's cache; as others where None."""

    cache_write: float | None = Field(default=None, ge=0)
    """Tokens put into that cache; as others where None."""

    as_of: str | None = None
    """When the provider asked for this, "2026-06"."""

    def of(self, usage: UsageMetrics) -> float:
        """What some usage costs, in USD."""
        plain = max(0, usage.prompt_tokens - usage.cached_prompt_tokens - usage.cache_creation_tokens)
        cached = self.input if self.cached_input is None else self.cached_input
        written = self.input if self.cache_write is None else self.cache_write
        return (
            plain * self.input
            + usage.cached_prompt_tokens * cached
            + usage.cache_creation_tokens * written
            + usage.completion_tokens * self.output
        ) / _MILLION


_TABLE = TypeAdapter(dict[str, Price])


@lru_cache(8)
def _parse(text: str) -> dict[str, Price]:
    return _TABLE.validate_json(text)


class _Prices:
    """The prices of this process: what was registered, else the user's file, else ours."""

    def __init__(self) -> None:
        self.registered: dict[str, Price] = {}
        self.replaced = False

    def find(self, model: str) -> Price | None:
        tables = [self.registered] if self.replaced else [self.registered, _user_prices(), _bundled_prices()]
        for table in tables:
            for name in (model, _DATE_SUFFIX.sub("", model)):
                if name in table:
                    return table[name]
        return None


_prices = _Prices()


def _bundled_prices() -> dict[str, Price]:
    return _parse(resources.files("crewgraph.llm").joinpath("prices.json").read_text("utf-8"))


def _user_prices() -> dict[str, Price]:
    path = prices_file()
    if path is None:
        return {}
    try:
        return _parse(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        raise ValueError(
            f"the prices in CREWGRAPH_PRICES={str(path)!r} cannot be read: {error}. It is a JSON file with USD per million "
            'tokens: {"my-model": {"input": 1.25, "cached_input": 0.125, "output": 10}}'
        ) from error


def price_of(model: str) -> Price | None:
    """The price of a model by the name its provider knows; None where nobody told it.

    A name that ends in a date finds the price of the name without it.

    Raises:
        ValueError: the file that CREWGRAPH_PRICES names cannot be read.
    """
    return _prices.find(model)


def register(
    model: str,
    *,
    input: float,
    output: float,
    cached_input: float | None = None,
    cache_write: float | None = None,
) -> None:
    """Tell what a model costs, in USD per million tokens; counts before all tables.

        register("llama3.1", input=0, output=0)

    Raises:
        pydantic.ValidationError: a price is below zero.
    """
    set_price(model, Price(input=input, output=output, cached_input=cached_input, cache_write=cache_write))


def set_price(model: str, price: Price) -> None:
    """The same for a price that was made already."""
    _prices.registered = {**_prices.registered, model: price}


def replace(prices: Mapping[str, Price | Mapping[str, Any]] | None) -> None:
    """Let these be all prices there are; None takes everything back that was registered or replaced.

    Raises:
        pydantic.ValidationError: a price has not the fields of `Price`.
    """
    _prices.registered = {} if prices is None else _TABLE.validate_python(dict(prices))
    _prices.replaced = prices is not None


def cost(by_model: Mapping[str, UsageMetrics]) -> float | None:
    """What usage costs, in USD; None where the price of a model is unknown, or it did not tell its tokens."""
    total = 0.0
    for model, usage in by_model.items():
        price = price_of(model)
        if price is None or not usage.total_tokens:
            return None
        total += price.of(usage)
    return total
