"""Embedders that ask a service: OpenAI, Azure, Ollama and what speaks OpenAI's protocol."""

import gc
import json
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import openai
import pytest
from modes import Mode
from servers.embeddings import Doing, vector_of
from servers.openai_api import OpenAIServer, error, garbage

from crewgraph.errors import EmbedderError
from crewgraph.storage.vectors.embedder import NamedEmbedder
from crewgraph.storage.vectors.resolve import embedder_of


def documents(mode: Mode, embedder: NamedEmbedder, texts: list[str]) -> Any:
    return mode.run(embedder.embeddings.embed_documents, embedder.embeddings.aembed_documents, texts)


def query(mode: Mode, embedder: NamedEmbedder, text: str) -> Any:
    return mode.run(embedder.embeddings.embed_query, embedder.embeddings.aembed_query, text)


def vectors_of(texts: list[str], size: int = 64) -> list[Any]:
    return [pytest.approx(vector_of(text, size)) for text in texts]


def openai_at(server: OpenAIServer, **config: Any) -> NamedEmbedder:
    settings = {"model": "text-embedding-3-small", "api_base": server.url, "api_key": "k", **config}
    return embedder_of({"provider": "openai", "config": settings})


def test_openai_gets_plain_texts_and_is_asked_from_any_event_loop(mode: Mode):
    with OpenAIServer() as server:
        embedder = openai_at(server, dimensions="16", default_headers={"x-team": "tides"}, organization_id="org")
        assert documents(mode, embedder, ["red fox", "sea"]) == vectors_of(["red fox", "sea"], 16)
        assert query(mode, embedder, "fox") == pytest.approx(vector_of("fox", 16))  # in another event loop
    first, second = server.requests
    assert first.path == "/v1/embeddings"
    assert (first.body["input"], first.body["model"], first.body["dimensions"]) == (
        ["red fox", "sea"],
        "text-embedding-3-small",
        16,
    )
    assert second.body["input"] == ["fox"]
    assert [first.headers[name] for name in ("authorization", "x-team", "openai-organization")] == [
        "Bearer k",
        "tides",
        "org",
    ]


def test_openais_environment_is_what_crewais_users_have(mode: Mode, monkeypatch: pytest.MonkeyPatch):
    with OpenAIServer(key="kept") as server:
        monkeypatch.setenv("OPENAI_API_KEY", "other")
        monkeypatch.setenv("EMBEDDINGS_OPENAI_API_KEY", "kept")
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        monkeypatch.setenv("EMBEDDINGS_OPENAI_MODEL_NAME", "small")
        embedder = embedder_of({"provider": "openai"})
        assert query(mode, embedder, "fox") == pytest.approx(vector_of("fox"))
        assert server.bodies[0]["model"] == "small"
        assert query(mode, embedder_of("openai/large"), "fox") == pytest.approx(vector_of("fox"))
        assert server.bodies[1]["model"] == "large"


def test_a_key_in_the_environment_sends_nothing_unasked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert embedder_of(None).name == "local/1/256"


def test_a_custom_server_needs_no_key(mode: Mode):
    with OpenAIServer() as server:
        embedder = embedder_of({"provider": "openai", "config": {"model": "m", "base_url": server.url}})
        assert query(mode, embedder, "fox") == pytest.approx(vector_of("fox"))


def test_azure_is_asked_at_its_deployment(mode: Mode, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_BASE", "https://elsewhere.example")
    with OpenAIServer(key="k") as server:
        config = {
            "api_base": f"{server.root}/", "deployment_id": "d1", "model": "text-embedding-3-small",
            "api_type": "azure",
        }  # fmt: skip
        embedder = embedder_of({"provider": "azure", "config": {**config, "api_key": "k", "api_version": "2024-06-01"}})
        assert documents(mode, embedder, ["fox"]) == vectors_of(["fox"])
        assert server.requests[0].path == "/openai/deployments/d1/embeddings?api-version=2024-06-01"
        assert server.bodies[0]["input"] == ["fox"]
        assert embedder.name == "azure/text-embedding-3-small/1536"


def test_azure_by_its_environment_and_by_openais_api_type(mode: Mode, monkeypatch: pytest.MonkeyPatch):
    with OpenAIServer(key="k") as server:
        monkeypatch.setenv("AZURE_API_KEY", "k")
        monkeypatch.setenv("AZURE_API_BASE", f"{server.root}/openai/deployments/d2")
        monkeypatch.setenv("AZURE_API_VERSION", "v")
        for embedder in ("azure/m", {"provider": "openai", "config": {"api_type": "azure", "model_name": "m"}}):
            assert query(mode, embedder_of(embedder), "fox") == pytest.approx(vector_of("fox"))
        assert [request.path for request in server.requests] == ["/openai/deployments/d2/embeddings?api-version=v"] * 2


@pytest.mark.parametrize("url", ["{}", "{}/api/embeddings", "{}/v1/", "{}/api/embed"])
@pytest.mark.parametrize("path", ["/v1/embeddings", "/api/embed"])
def test_ollama_is_asked_at_its_address_however_it_is_written(
    url: str, path: str, mode: Mode, monkeypatch: pytest.MonkeyPatch
):
    if path == "/v1/embeddings":
        monkeypatch.setitem(sys.modules, "langchain_ollama", None)
    else:
        pytest.importorskip("langchain_ollama")
    with OpenAIServer() as server:
        embedder = embedder_of(
            {"provider": "ollama", "config": {"model": "nomic-embed-text", "url": url.format(server.root)}}
        )
        assert documents(mode, embedder, ["red fox", "sea"]) == vectors_of(["red fox", "sea"])
        assert query(mode, embedder, "fox") == pytest.approx(vector_of("fox"))
        assert embedder.name == "ollama/nomic-embed-text"
    assert [request.path for request in server.requests] == [path] * 2
    assert [body["model"] for body in server.bodies] == ["nomic-embed-text"] * 2
    with warnings.catch_warnings(
        action="ignore", category=ResourceWarning
    ):  # Ollama's client leaves its connections open
        del embedder
        gc.collect()


@pytest.mark.parametrize("provider", ["jina", "mistral", "openrouter"])
def test_services_that_speak_openais_protocol_are_asked_with_it(provider: str, mode: Mode):
    with OpenAIServer(key="k") as server:
        embedder = embedder_of({"provider": provider, "config": {"api_key": "k", "base_url": server.url}})
        assert documents(mode, embedder, ["fox"]) == vectors_of(["fox"])
    assert server.bodies[0]["encoding_format"] == "float"


def test_hugging_faces_server_is_asked_at_its_url(mode: Mode):
    with OpenAIServer() as server:
        embedder = embedder_of({"provider": "huggingface", "config": {"url": f"{server.root}/embed"}})
        assert documents(mode, embedder, ["fox"]) == vectors_of(["fox"])
        assert embedder.name == f"huggingface/server@{server.root.removeprefix('http://')}/embed"
    assert server.requests[0].path == "/v1/embeddings"


def test_many_texts_go_in_several_requests(mode: Mode):
    texts = [f"text {number}" for number in range(1200)]
    with OpenAIServer() as server:
        assert documents(mode, openai_at(server), texts) == vectors_of(texts)
    assert [len(body["input"]) for body in server.bodies] == [512, 512, 176]


def test_a_long_text_goes_in_parts_and_an_empty_one_as_a_space(mode: Mode):
    long = "潮水" * 4000 + " " + "sea " * 3000
    with OpenAIServer() as server:
        vectors = documents(mode, openai_at(server), ["", "fox", long, "x\ud800y"])
        sent = server.bodies[0]["input"]
    assert sent[:2] == [" ", "fox"]
    assert "".join(sent[2:-1]) == long
    assert sent[-1] == "x?y"
    assert max(len(part.encode()) for part in sent) <= 10_000
    assert vectors[1] == pytest.approx(vector_of("fox"))
    assert sum(number * number for number in vectors[2]) == pytest.approx(1)


def test_a_refused_request_is_repeated_and_no_text_is_asked_twice(mode: Mode):
    script: Sequence[Doing] = [None, error(429, retry_after=0.01), error(500, retry_after=0.01), None]
    with OpenAIServer(embeddings=script) as server:
        texts = [f"text {number}" for number in range(600)]
        assert documents(mode, openai_at(server), texts) == vectors_of(texts)
    assert [len(body["input"]) for body in server.bodies] == [512, 88, 88, 88]


def test_a_wrong_key_is_the_clients_own_error(mode: Mode):
    with OpenAIServer(key="right") as server, pytest.raises(openai.AuthenticationError, match="wrong one"):
        query(mode, openai_at(server), "fox")


@pytest.mark.parametrize("answer", [garbage(), garbage(b"{}"), garbage(b"[]"), garbage(b"not json")])
def test_an_answer_that_is_none_is_an_error_that_says_so(answer: Any, mode: Mode):
    with (
        OpenAIServer(embeddings=[answer] * 3) as server,
        pytest.raises(EmbedderError, match=r"got a response that cannot be read.*most end in /v1"),
    ):
        query(mode, openai_at(server, max_retries=0), "fox")


def test_too_few_vectors_are_reported(mode: Mode):
    response = {"object": "list", "model": "m", "data": [{"object": "embedding", "index": 0, "embedding": [1.0, 2.0]}]}
    with (
        OpenAIServer(embeddings=[garbage(json.dumps(response).encode())]) as server,
        pytest.raises(EmbedderError, match="returned 1 vectors for 2 texts"),
    ):
        documents(mode, openai_at(server), ["fox", "sea"])


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("openai/text-embedding-3-small", "openai/text-embedding-3-small/1536"),
        ("text-embedding-3-small", "openai/text-embedding-3-small/1536"),
        ({"provider": "openai"}, "openai/text-embedding-3-large/3072"),
        ({"provider": "OpenAI", "config": {"model_name": "text-embedding-3-large", "dimensions": 256}}, None),
        ({"provider": "openai", "config": {"model": "m", "base_url": "https://api.openai.com/v1"}}, "openai/m"),
        (
            {"provider": "openai", "config": {"model": "m", "url": "http://u:p@h.example:8/v1?key=1"}},
            "openai/m@h.example:8",
        ),
        (
            {"provider": "azure", "config": {"deployment_id": "d", "api_base": "https://r.example/"}},
            "azure/d@r.example",
        ),
        ({"provider": "jina"}, "jina/jina-embeddings-v2-base-en"),
        (
            {"provider": "openrouter", "config": {"model": "openai/text-embedding-3-small"}},
            "openrouter/openai/text-embedding-3-small",
        ),
        ({"provider": "ollama", "config": {"model": "e", "dimensions": 64}}, "ollama/e/64"),
    ],
)
def test_the_name_holds_what_changes_vectors_and_no_key(given: Any, name: str | None, monkeypatch: pytest.MonkeyPatch):
    for variable in ("OPENAI_API_KEY", "JINA_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.setenv(variable, "k-secret")
    assert embedder_of(given).name == (name or "openai/text-embedding-3-large/256")
