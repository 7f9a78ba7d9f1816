"""Providers of embeddings as models, by CrewAI's names and variables."""

import importlib
from importlib.util import find_spec
from typing import Any, get_args

import numpy as np
import pytest
from crewgraph_compat.stand_ins.rag.embedders import (
    PROVIDER_PATHS,
    EmbeddingConfigurator,
    build_embedder,
    build_embedder_from_provider,
)
from crewgraph_compat.stand_ins.rag.embedding_functions import (
    CustomEmbeddingFunction,
    VoyageAIEmbeddingFunction,
    WatsonXEmbeddingFunction,
)
from crewgraph_compat.stand_ins.rag.hosted_providers import (
    BedrockProvider,
    HuggingFaceProvider,
    JinaProvider,
    VoyageAIProvider,
    WatsonXProvider,
    create_aws_session,
)
from crewgraph_compat.stand_ins.rag.provider_specs import (
    AllowedEmbeddingProviders,
    AzureProviderConfig,
    OpenAIProviderSpec,
    ProviderSpec,
)
from crewgraph_compat.stand_ins.rag.providers import (
    AzureProvider,
    BaseEmbeddingsProvider,
    CustomProvider,
    OllamaProvider,
    ONNXProvider,
    OpenAIProvider,
    OpenRouterProvider,
)
from crewgraph_compat.surface.reexports import target
from pydantic import TypeAdapter, ValidationError
from servers.embeddings import vector_of
from servers.openai_api import OpenAIServer

from crewgraph import Agent, Crew, Knowledge, ScriptedLLM, Task
from crewgraph.deprecations import Outdated
from crewgraph.errors import EmbedderError, MissingExtra
from crewgraph.storage.vectors.resolve import embedder_of


class Lengths(CustomEmbeddingFunction):
    def __init__(self, scale: float = 1) -> None:
        self.scale = scale

    def __call__(self, input: list[str]) -> Any:
        return [[len(text) * self.scale, 1.0] for text in input]


def test_every_provider_is_where_its_path_says():
    for name, path in PROVIDER_PATHS.items():
        module, _, attribute = path.rpartition(".")
        home, _, found = str(target(module, attribute)).partition(":")
        provider = getattr(importlib.import_module(home), found)
        assert issubclass(provider, BaseEmbeddingsProvider), name
    assert set(PROVIDER_PATHS) == set(get_args(AllowedEmbeddingProviders))


def test_what_is_not_given_comes_from_the_environment_in_the_order_of_names(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ValidationError, match="EMBEDDINGS_JINA_API_KEY"):
        JinaProvider()
    monkeypatch.setenv("JINA_API_KEY", "second")
    monkeypatch.setenv("MODEL", "of something else")
    made = JinaProvider()
    assert (made.api_key, made.model_name) == ("second", "jina-embeddings-v2-base-en")
    monkeypatch.setenv("EMBEDDINGS_JINA_API_KEY", "first")
    assert JinaProvider().api_key == "first"
    assert JinaProvider.model_validate({"api_key": "given", "model": "m"}).model_dump(
        exclude={"embedding_callable"}
    ) == {
        "api_key": "given",
        "model_name": "m",
    }
    with pytest.raises(ValidationError):
        JinaProvider(api_key=None)  # pyright: ignore[reportArgumentType]
    monkeypatch.setenv("EMBEDDINGS_OPENAI_DIMENSIONS", "12")
    assert OpenAIProvider().dimensions == 12


def test_defaults_are_those_of_the_newer_release(monkeypatch: pytest.MonkeyPatch):
    assert OpenAIProvider().model_name == "text-embedding-3-large"
    azure = AzureProvider(api_key="k", deployment_id="d")
    assert (azure.api_type, azure.api_version) == ("azure", "2024-02-01")
    assert OpenRouterProvider(api_key="k").api_base == "https://openrouter.ai/api/v1"
    assert OllamaProvider.model_validate({"model": "m"}).url == "http://localhost:11434/api/embeddings"
    assert HuggingFaceProvider().model_name == "sentence-transformers/all-MiniLM-L6-v2"
    assert BedrockProvider(session=3).model_name == "amazon.titan-embed-text-v1"
    assert VoyageAIProvider(api_key="k").model == "voyage-2"
    monkeypatch.setenv("WATSONX_URL", "https://w.example")
    watson = WatsonXProvider(api_key="k", model_id="m")
    assert (watson.url, watson.batch_size, watson.persistent_connection) == ("https://w.example", 100, True)


@pytest.mark.parametrize(
    ("kind", "config"), [(OpenAIProvider, {"api_key": "k", "api_base": ...}), (HuggingFaceProvider, {"url": ...})]
)
def test_a_provider_embeds_with_what_it_was_told(kind: Any, config: dict[str, Any]):
    with OpenAIServer() as server:
        provider = kind(**{key: server.url if value is ... else value for key, value in config.items()})
        function = build_embedder_from_provider(provider)
        assert [row.dtype for row in function(["red fox"])] == [np.float32]
        assert function.embed_query("fox")[0].tolist() == pytest.approx(vector_of("fox", len(function("fox")[0])))
        assert embedder_of(provider).name == embedder_of(function).name
    assert {one.body["input"][0] for one in server.requests} == {"red fox", "fox"}


def test_an_embedder_of_a_provider_is_taken_wherever_one_is():
    made = CustomProvider(embedding_callable=Lengths, scale=2)  # pyright: ignore[reportCallIssue]
    assert [row.tolist() for row in build_embedder(made)(["one"])] == [[6, 1]]
    assert Knowledge("port", ["the ferry leaves"], embedder=made).query("the ferry leaves")[0]["content"]
    clerk = Agent(role="Clerk", goal="Know", backstory="Careful.", llm=ScriptedLLM(["ferry", "At nine."]))
    task = Task(description="When?", expected_output="A time", agent=clerk)
    crew = Crew(agents=[clerk], tasks=[task], knowledge_sources=["the ferry leaves at nine"], embedder=made)
    assert crew.kickoff().raw == "At nine."


def test_a_custom_class_has_to_be_one():
    for wrong in (int, "Lengths", None):
        with pytest.raises(ValidationError):
            CustomProvider(embedding_callable=wrong)  # pyright: ignore[reportArgumentType]
    made = build_embedder({"provider": "custom", "config": {"embedding_callable": Lengths, "scale": 3}})
    assert isinstance(made, Lengths) and made(["one"])[0].tolist() == [9, 1]
    assert build_embedder({"provider": "custom", "config": {"embedding_callable": len}}).embeddings


def test_an_older_programs_configurator_makes_embedders_and_is_reported():
    with pytest.warns(Outdated, match="import `build_embedder`"):
        made = EmbeddingConfigurator().configure_embedder({"provider": "local", "config": {"dimensions": 512}})
    assert made.name == "local/1/512"


def test_a_base_with_a_custom_class_is_a_provider():
    class Mine(BaseEmbeddingsProvider[Lengths]):
        embedding_callable: type[Lengths] = Lengths
        scale: float = 4

    assert build_embedder(Mine())(["one"])[0].tolist() == [12, 1]


def test_what_cannot_be_had_here_is_refused_with_what_to_do():
    with pytest.raises(
        EmbedderError, match="`nope` is not a supported provider of embeddings. Supported: amazon-bedrock"
    ):
        build_embedder({"provider": "nope", "config": {}})
    with pytest.raises(EmbedderError, match="has no `input_type`"):
        VoyageAIProvider(api_key="k", input_type="query").create()
    assert (VoyageAIEmbeddingFunction.name(), WatsonXEmbeddingFunction.name()) == ("voyageai", "watsonx")


@pytest.mark.skipif(find_spec("chromadb") is not None, reason="ChromaDB is installed")
def test_a_provider_that_chromadb_has_alone_needs_it():
    with pytest.raises(EmbedderError, match='its model is `{"provider": "sentence-transformer"}`'):
        build_embedder({"provider": "onnx", "config": {}})
    with pytest.raises(EmbedderError, match="`onnx` is not a supported provider"):
        ONNXProvider().create()


@pytest.mark.skipif(find_spec("boto3") is not None, reason="boto3 is installed")
def test_a_session_of_aws_needs_its_package():
    with pytest.raises(MissingExtra, match="boto3"):
        create_aws_session()


def test_embedders_as_data_are_distinguished_by_their_provider():
    read = TypeAdapter[Any](ProviderSpec)
    given = {"provider": "openai", "config": {"model_name": "m", "dimensions": 3}}
    assert read.validate_python(given) == given
    with pytest.raises(ValidationError):
        read.validate_python({"provider": "nope"})
    assert OpenAIProviderSpec.__required_keys__ == {"provider"}
    assert AzureProviderConfig.__required_keys__ == {"deployment_id"}
