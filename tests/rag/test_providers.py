"""Providers of embeddings as models, by CrewAI's names and variables."""

from typing import Any

import pytest
from crewgraph_compat.stand_ins.rag.embedders import EmbeddingConfigurator
from crewgraph_compat.stand_ins.rag.provider_specs import AzureProviderConfig, OpenAIProviderSpec, ProviderSpec
from pydantic import TypeAdapter, ValidationError

from crewgraph.outdated import Outdated


def test_an_older_programs_configurator_makes_embedders_and_is_told():
    with pytest.warns(Outdated, match="import `build_embedder`"):
        made = EmbeddingConfigurator().configure_embedder({"provider": "local", "config": {"dimensions": 512}})
    assert made.name == "local/1/512"


def test_embedders_as_data_are_told_apart_by_their_provider():
    read = TypeAdapter[Any](ProviderSpec)
    given = {"provider": "openai", "config": {"model_name": "m", "dimensions": 3}}
    assert read.validate_python(given) == given
    with pytest.raises(ValidationError):
        read.validate_python({"provider": "nope"})
    assert OpenAIProviderSpec.__required_keys__ == {"provider"}
    assert AzureProviderConfig.__required_keys__ == {"deployment_id"}
