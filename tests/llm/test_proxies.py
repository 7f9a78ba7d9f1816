"""Models and embedders reach their servers through the proxy that the environment names."""

from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from modes import Mode
from servers.embeddings import vector_of
from servers.openai_api import OpenAIServer, Script

from crewgraph import LLM
from crewgraph.storage.vectors.resolve import embedder_of

Serve = Callable[[Script | None], OpenAIServer]


@pytest.fixture(params=["http_proxy", "HTTP_PROXY", "OPENAI_PROXY"])
def proxy(request: pytest.FixtureRequest, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    server = serve(None)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv(request.param, server.root)
    return server


def call(mode: Mode, llm: LLM) -> object:
    return mode.run(llm.call, llm.acall, "hello")


def test_a_model_is_asked_through_the_proxy(proxy: OpenAIServer, mode: Mode):
    # A host of its own: LangChain shares a client, and with it the proxy, among the models of one address.
    address = f"http://models-{urlsplit(proxy.root).port}.invalid/v1"
    assert call(mode, LLM("openai/test", base_url=address, api_key="k", max_retries=0)) == "echo: hello"
    assert [one.path for one in proxy.requests] == [f"{address}/chat/completions"]


def test_texts_are_embedded_through_the_proxy(proxy: OpenAIServer, mode: Mode):
    config = {"api_key": "k", "api_base": "http://vectors.invalid/v1", "model_name": "test"}
    embeddings = embedder_of({"provider": "openai", "config": config}).embeddings
    assert mode.run(embeddings.embed_query, embeddings.aembed_query, "red fox") == pytest.approx(vector_of("red fox"))
    assert proxy.requests[0].path == "http://vectors.invalid/v1/embeddings"


def test_a_proxy_that_cannot_be_reached_is_named_without_its_password(
    serve: Serve, mode: Mode, monkeypatch: pytest.MonkeyPatch
):
    with OpenAIServer() as closed:
        place = urlsplit(closed.root).netloc
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("http_proxy", f"http://me:secret@{place}")
    llm = LLM("openai/test", base_url="http://models.invalid/v1", api_key="k", max_retries=0)
    with pytest.raises(ConnectionError) as caught:
        call(mode, llm)
    assert f"at http://models.invalid could not be reached through the environment's proxy `{place}`" in str(
        caught.value
    )
    assert "secret" not in str(caught.value)
