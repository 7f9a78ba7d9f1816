"""IBM watsonx as a provider of embeddings."""

from typing import Any

from crewgraph_compat.stand_ins.embeddings_provider import BaseEmbeddingsProvider, said
from crewgraph_compat.stand_ins.provided_function import WatsonXEmbeddingFunction

__all__ = ["WatsonXProvider"]


def _said(name: str, default: Any = ...) -> Any:
    return said(f"EMBEDDINGS_WATSONX_{name}", f"WATSONX_{name}", default=default)


class WatsonXProvider(BaseEmbeddingsProvider[Any]):
    """IBM watsonx; `model_id`, `url` and `api_key` have to be given."""

    embedding_callable: type[Any] = WatsonXEmbeddingFunction
    model_id: str = _said("MODEL_ID")
    params: dict[str, str | dict[str, str]] | None = None
    credentials: Any | None = None
    project_id: str | None = _said("PROJECT_ID", None)
    space_id: str | None = _said("SPACE_ID", None)
    api_client: Any | None = None
    verify: bool | str | None = _said("VERIFY", None)
    persistent_connection: bool = _said("PERSISTENT_CONNECTION", True)
    batch_size: int = _said("BATCH_SIZE", 100)
    concurrency_limit: int = _said("CONCURRENCY_LIMIT", 10)
    max_retries: int | None = _said("MAX_RETRIES", None)
    delay_time: float | None = _said("DELAY_TIME", None)
    retry_status_codes: list[int] | None = None
    url: str = _said("URL")
    api_key: str = _said("API_KEY")
    name: str | None = _said("NAME", None)
    iam_serviceid_crn: str | None = _said("IAM_SERVICEID_CRN", None)
    trusted_profile_id: str | None = _said("TRUSTED_PROFILE_ID", None)
    token: str | None = _said("TOKEN", None)
    projects_token: str | None = _said("PROJECTS_TOKEN", None)
    username: str | None = _said("USERNAME", None)
    password: str | None = _said("PASSWORD", None)
    instance_id: str | None = _said("INSTANCE_ID", None)
    version: str | None = _said("VERSION", None)
    bedrock_url: str | None = _said("BEDROCK_URL", None)
    platform_url: str | None = _said("PLATFORM_URL", None)
    proxies: dict[str, Any] | None = None
