"""Cost of usage: by model, replaceable, and None if unknown."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crewgraph import CrewOutput, TaskOutput, UsageMetrics
from crewgraph.llm.prices import Price, cost, price_of, register, replace


@pytest.fixture(autouse=True)
def own_prices(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("CREWGRAPH_PRICES", raising=False)
    yield
    replace(None)


def used(prompt: int = 0, completion: int = 0, **more: int) -> UsageMetrics:
    return UsageMetrics(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=prompt + completion,
        successful_requests=1,
        **more,
    )


def output(**by_model: UsageMetrics) -> TaskOutput:
    output = TaskOutput(description="d", name="n", agent="a", usage_by_model=by_model)
    for usage in by_model.values():
        output.usage.add_usage_metrics(usage)
    return output


def test_the_price_is_per_million_tokens_and_the_cache_has_its_own():
    price = Price(input=10, cached_input=1, cache_write=20, output=100)
    usage = used(1_000_000, 10_000, cached_prompt_tokens=500_000, cache_creation_tokens=100_000)
    assert price.of(usage) == pytest.approx(0.4 * 10 + 0.5 * 1 + 0.1 * 20 + 0.01 * 100)
    assert Price(input=10, output=100).of(usage) == pytest.approx(10 + 1)


@pytest.mark.parametrize("model", ["gpt-5-mini", "claude-sonnet-4-5", "gemini-2.5-pro"])
def test_the_models_of_the_large_providers_have_prices(model: str):
    price = price_of(model)
    assert price is not None and price.output > price.input > (price.cached_input or 0) > 0
    assert cost({model: used(300_000)}) == pytest.approx(
        0.3 * price.input
    )  # of several requests, none of which is long


@pytest.mark.parametrize("name", ["gpt-4o-mini-2024-07-18", "gpt-4o-mini-latest", "gpt-4o-mini@20240718"])
def test_a_dated_name_has_the_price_of_the_name_without_it(name: str):
    assert price_of(name) == price_of("gpt-4o-mini") is not None


@pytest.mark.parametrize("name", ["nobody", "gpt-4o-mini-tuned", ""])
def test_an_unknown_model_has_no_price(name: str):
    assert price_of(name) is None
    assert cost({name: used(1, 1)}) is None


def test_several_models_add_up_and_one_unknown_makes_the_sum_unknown():
    register("dear", input=10, output=10)
    register("cheap", input=1, output=1)
    assert cost({"dear": used(100_000), "cheap": used(100_000)}) == pytest.approx(1.1)
    assert cost({"dear": used(100_000), "other": used(1)}) is None
    assert cost({}) == 0


def test_registered_prices_precede_the_file_and_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "prices.json"
    path.write_text('{"gpt-4o": {"input": 1, "output": 2}, "mine": {"input": 3, "output": 4}}', "utf-8")
    monkeypatch.setenv("CREWGRAPH_PRICES", str(path))
    assert price_of("gpt-4o") == Price(input=1, output=2)
    assert price_of("mine") == Price(input=3, output=4)
    assert price_of("gpt-4o-mini") is not None
    register("mine", input=5, output=6)
    assert price_of("mine") == Price(input=5, output=6)
    path.write_text('{"gpt-4o": {"input": 7, "output": 8}}', "utf-8")
    assert price_of("gpt-4o") == Price(input=7, output=8)


def test_all_prices_can_be_replaced_and_restored():
    table = price_of("gpt-4o")
    replace({"only": {"input": 1, "output": 2}})
    assert price_of("only") == Price(input=1, output=2)
    assert price_of("gpt-4o") is None
    replace(None)
    assert (price_of("only"), price_of("gpt-4o")) == (None, table)


@pytest.mark.parametrize("text", ["{", "[]", '{"m": {"input": 1}}', '{"m": {"input": -1, "output": 1}}', '{"m": 5}'])
def test_an_invalid_price_file_is_reported_with_the_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str):
    path = tmp_path / "prices.json"
    path.write_text(text, "utf-8")
    monkeypatch.setenv("CREWGRAPH_PRICES", str(path))
    with pytest.raises(ValueError, match=r"CREWGRAPH_PRICES=.*cannot be read: .*(?s:.*)USD per million"):
        price_of("m")


def test_outputs_have_a_cost():
    register("dear", input=10, output=10)
    first, second = output(dear=used(100_000)), output(dear=used(200_000))
    assert first.cost == pytest.approx(1)
    assert CrewOutput(tasks_output=[first, second]).cost == pytest.approx(3)
    assert CrewOutput(tasks_output=[first, output(other=used(1))]).cost is None
    assert TaskOutput(description="skipped", agent="a").cost == 0
    assert TaskOutput(description="old", agent="a", usage=used(5, 5)).cost is None
    assert TaskOutput.from_plain(first.to_plain()).cost == first.cost
