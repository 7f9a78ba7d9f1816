"""Providers whose LangChain package is an extra: built where it is installed, else refused with the pip line."""

from importlib.util import find_spec
from typing import Any

import pytest

from crewgraph.errors import EmbedderError, MissingExtra
from crewgraph.storage.vectors.providers import EMBEDDING_PROVIDERS
from crewgraph.storage.vectors.resolve import embedder_of

CONFIGS: dict[str, dict[str, Any]] = {
    "google": {
        "model": "gemini-embedding-001",
        "api_key": "k-secret",
        "task_type": "SEMANTIC_SIMILARITY",
        "dimensions": 768,
    },
    "google-vertex": {
        "model_name": "gemini-embedding-001",
        "api_key": "k-secret",
        "project_id": "p",
        "region": "europe-west1",
    },
    "cohere": {"model_name": "embed-multilingual-v3.0", "api_key": "k-secret", "timeout": 5, "max_retries": 1},
    "voyageai": {"model": "voyage-3", "api_key": "k-secret", "output_dimension": 512, "truncation": False},
    "huggingface": {"model": "intfloat/e5-small", "api_key": "k-secret"},
    "sentence-transformer": {"model_name": "all-MiniLM-L6-v2", "device": "cpu", "normalize_embeddings": True},
    "amazon-bedrock": {"model_name": "amazon.titan-embed-text-v2:0", "region": "eu-central-1", "dimensions": 256},
    "watsonx": {"model_id": "ibm/slate-30m", "url": "https://w.example", "api_key": "k-secret", "project_id": "p"},
}
NAMES = {
    "google": "google/gemini-embedding-001/output_dimensionality=768/task_type=SEMANTIC_SIMILARITY",
    "google-vertex": "google-vertex/gemini-embedding-001",
    "cohere": "cohere/embed-multilingual-v3.0",
    "voyageai": "voyageai/voyage-3/output_dimension=512/truncation=False",
    "huggingface": "huggingface/intfloat/e5-small",
    "sentence-transformer": "sentence-transformer/all-MiniLM-L6-v2/normalize_embeddings=True",
    "amazon-bedrock": "amazon-bedrock/amazon.titan-embed-text-v2:0/256",
    "watsonx": "watsonx/ibm/slate-30m",
}


def missing(name: str) -> bool:
    provider = EMBEDDING_PROVIDERS[name]
    return any(find_spec(module) is None for module in (provider.module, *provider.requires))


def test_every_provider_of_a_package_is_tried_here():
    assert set(CONFIGS) == set(NAMES) == {p.name for p in EMBEDDING_PROVIDERS.values() if p.extra}


@pytest.mark.parametrize("name", [name for name in CONFIGS if missing(name)])
def test_a_missing_package_is_refused_with_the_pip_line(name: str):
    extra = EMBEDDING_PROVIDERS[name].extra
    with pytest.raises(MissingExtra) as caught:
        embedder_of({"provider": name, "config": CONFIGS[name]})
    assert f"The embedder `{name}` needs the package `" in str(caught.value)
    assert f'pip install "crewgraph[{extra}]"' in str(caught.value)


def test_installed_ones_are_built_with_the_right_words():
    installed = [name for name in CONFIGS if not missing(name)]
    embedders = {name: embedder_of({"provider": name, "config": CONFIGS[name]}) for name in installed}
    assert {name: embedder.name for name, embedder in embedders.items()} == {name: NAMES[name] for name in installed}
    assert "secret" not in repr(embedders)


@pytest.mark.parametrize("name", ["google", "cohere", "voyageai"])
def test_a_key_is_asked_for_before_anything_is_sent(name: str):
    config = {key: value for key, value in CONFIGS[name].items() if key != "api_key"}
    if not missing(name):
        with pytest.raises(EmbedderError, match=f"`{name}` needs an API key. Set "):
            embedder_of({"provider": name, "config": config})


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("google-generativeai", "google"), ("bedrock", "amazon-bedrock"), ("voyage", "voyageai"),
        ("vertexai", "google-vertex"),
    ],
)  # fmt: skip
def test_older_names_of_providers_are_known(alias: str, name: str):
    with pytest.raises(EmbedderError, match=f"The embedder `{name}` has no `nonsense`"):
        embedder_of({"provider": alias, "config": {"nonsense": 1}})
