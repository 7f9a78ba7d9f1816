"""Model providers by CrewAI's names, and the LangChain class for each.

Hosts with OpenAI's protocol need no package of their own: `ChatOpenAI` with their address and key variable serves them.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crewgraph.llm.errors import MissingKey, UnknownModel
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.text import suggestion

CHOICES = (
    "  1. set OPENAI_API_KEY (and MODEL to choose the model);\n"
    '  2. llm="ollama/llama3.2", or another local server, which needs no key;\n'
    '  3. llm="<provider>/<model>" with the key of that provider: anthropic, gemini, groq, openrouter, ...;\n'
    '  4. llm=LLM(model="<model>", base_url="http://...") for any server with OpenAI\'s protocol;\n'
    "  5. llm=<any LangChain chat model>;\n"
    '  6. llm=ScriptedLLM(["..."]) from crewgraph.llm.scripted, for tests.'
)
"""The ways to specify a model, for error messages."""


@dataclass(frozen=True)
class Provider:
    """How to reach the models of a provider; names of environment variables are separated by spaces."""

    name: str
    key_variables: str = ""
    """Environment variables for the API key, the most common one first."""

    base_variables: str = ""
    """Environment variables that override the address."""

    base_url: str | None = None
    """The default address; None for the default of the client."""

    model_class: str = "langchain_openai.ChatOpenAI"
    """The LangChain class for its models, with its module."""

    extra: str | None = None
    """The extra of crewgraph that installs the module; None if its package is installed by itself."""

    key_needed: bool = True
    """Whether an API key is required."""

    defaults: PlainMapping = field(default_factory=dict[str, Any])
    """Arguments of the class that are always passed."""

    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Environment variables that supply further arguments of the class."""

    def environment_settings(self) -> PlainDict:
        """Return the arguments of the class that the environment supplies."""
        found = {argument: _first_variable(names) for argument, names in self.variables.items()}
        return {argument: value for argument, value in found.items() if value is not None}


def _hosted(name: str, base_url: str, keys: str, base: str | None = None) -> Provider:
    return Provider(name, keys, base or f"{name.upper()}_API_BASE", base_url)


def _local_server(name: str, base_url: str | None) -> Provider:
    return Provider(name, f"{name.upper()}_API_KEY", f"{name.upper()}_API_BASE", base_url, key_needed=False)


_OPENAI_BASES = "OPENAI_API_BASE OPENAI_BASE_URL"

_ALL = (
    Provider("openai", "OPENAI_API_KEY", _OPENAI_BASES),
    Provider(
        "azure",
        "AZURE_API_KEY AZURE_OPENAI_API_KEY",
        "AZURE_API_BASE AZURE_ENDPOINT AZURE_OPENAI_ENDPOINT",
        model_class="langchain_openai.AzureChatOpenAI",
    ),
    Provider("azure_ai", "AZURE_AI_API_KEY", "AZURE_AI_API_BASE"),
    Provider(
        "anthropic",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_API_BASE ANTHROPIC_BASE_URL",
        model_class="langchain_anthropic.ChatAnthropic",
        extra="anthropic",
    ),
    Provider(
        "gemini",
        "GEMINI_API_KEY GOOGLE_API_KEY",
        model_class="langchain_google_genai.ChatGoogleGenerativeAI",
        extra="google",
    ),
    Provider(
        "vertex_ai",
        model_class="langchain_google_genai.ChatGoogleGenerativeAI",
        extra="google",
        key_needed=False,
        defaults={"vertexai": True},
        variables={
            "project": "VERTEXAI_PROJECT GOOGLE_CLOUD_PROJECT",
            "location": "VERTEXAI_LOCATION GOOGLE_CLOUD_LOCATION",
        },
    ),
    Provider(
        "bedrock",
        model_class="langchain_aws.ChatBedrockConverse",
        key_needed=False,
        variables={"region_name": "AWS_REGION_NAME AWS_REGION AWS_DEFAULT_REGION"},
    ),
    Provider(
        "mistral",
        "MISTRAL_API_KEY",
        "MISTRAL_API_BASE",
        model_class="langchain_mistralai.ChatMistralAI",
        extra="mistral",
    ),
    Provider(
        "watsonx",
        "WATSONX_APIKEY WATSONX_API_KEY",
        "WATSONX_URL WATSONX_API_BASE",
        model_class="langchain_ibm.ChatWatsonx",
    ),
    Provider("litellm", model_class="langchain_litellm.ChatLiteLLM", extra="litellm", key_needed=False),
    Provider(
        "ollama",
        "OLLAMA_API_KEY",
        "OLLAMA_API_BASE OLLAMA_HOST API_BASE",
        "http://localhost:11434",
        model_class="langchain_ollama.ChatOllama",
        extra="ollama",
        key_needed=False,
    ),
    _local_server("hosted_vllm", "http://localhost:8000/v1"),
    _local_server("lm_studio", "http://localhost:1234/v1"),
    _local_server("llamafile", "http://127.0.0.1:8080/v1"),
    _local_server("litellm_proxy", None),
    _hosted("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    _hosted("together_ai", "https://api.together.xyz/v1", "TOGETHERAI_API_KEY TOGETHER_API_KEY TOGETHER_AI_API_KEY"),
    _hosted("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    _hosted("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY OR_API_KEY"),
    _hosted("perplexity", "https://api.perplexity.ai", "PERPLEXITYAI_API_KEY PERPLEXITY_API_KEY PPLX_API_KEY"),
    _hosted("fireworks_ai", "https://api.fireworks.ai/inference/v1", "FIREWORKS_AI_API_KEY FIREWORKS_API_KEY"),
    _hosted("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
    _hosted("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    _hosted("sambanova", "https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY"),
    _hosted("nvidia_nim", "https://integrate.api.nvidia.com/v1", "NVIDIA_NIM_API_KEY NVIDIA_API_KEY"),
    _hosted("huggingface", "https://router.huggingface.co/v1", "HF_TOKEN HUGGINGFACE_API_KEY", "HF_API_BASE"),
    _hosted("cohere", "https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY CO_API_KEY"),
    _hosted("deepinfra", "https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY"),
    _hosted("dashscope", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
    _hosted("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    _hosted("zai", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY"),
    _hosted("github", "https://models.github.ai/inference", "GITHUB_API_KEY GITHUB_TOKEN"),
    Provider("databricks", "DATABRICKS_API_KEY", "DATABRICKS_API_BASE"),
)

_ALIASES = {
    "azure_openai": "azure",
    "bedrock_converse": "bedrock",
    "claude": "anthropic",
    "cohere_chat": "cohere",
    "custom_openai": "openai",
    "aws": "bedrock",
    "fireworks": "fireworks_ai",
    "google": "gemini",
    "google_genai": "gemini",
    "google_vertexai": "vertex_ai",
    "ibm": "watsonx",
    "mistralai": "mistral",
    "nvidia": "nvidia_nim",
    "ollama_chat": "ollama",
    "openai_like": "openai",
    "together": "together_ai",
    "vertex_ai_beta": "vertex_ai",
    "vllm": "hosted_vllm",
}

PROVIDERS: dict[str, Provider] = {provider.name: provider for provider in _ALL}
"""All providers by name."""

_SPELLINGS = [*PROVIDERS, *_ALIASES]

_BARE_NAMES = (
    (re.compile(r"^(?:gpt-|chatgpt-|ft:gpt-|o[134](?:$|-))"), "openai"),
    (re.compile(r"^claude"), "anthropic"),
    (re.compile(r"^gemini"), "gemini"),
)


@dataclass(frozen=True)
class Target:
    """A provider, and the name of a model there."""

    provider: Provider
    model: str

    def address(self, base_url: str | None) -> str | None:
        """Return the address of the API: the argument, an environment variable, or the provider's default.

        Raises:
            UnknownModel: The provider requires an address and none is set.
        """
        address = base_url or _first_variable(self.provider.base_variables) or self.provider.base_url
        if self.provider.name == "ollama" and address:
            address = _complete_address(address)
        if address is None and self.provider.name in _ADDRESS_NEEDED:
            raise UnknownModel(
                f"The model `{self.provider.name}/{self.model}` needs an address. "
                f"Pass `LLM(base_url=...)` or set {self.provider.base_variables.split()[0]}."
            )
        return address.rstrip("/") if address else None

    def environment_key(self) -> str | None:
        """Return the API key that an environment variable of the provider holds, if any."""
        return _first_variable(self.provider.key_variables)

    def key(self, api_key: str | None, address: str | None) -> str | None:
        """Return the API key: the argument, or an environment variable of the provider.

        Raises:
            MissingKey: The provider requires a key and none is set.
        """
        key = (api_key.strip() if isinstance(api_key, str) else api_key) or self.environment_key()
        if key or not self.provider.key_needed:
            return key
        if self.provider.name == "openai" and address is not None and "api.openai.com" not in address:
            return None  # a self-hosted server, which requires no key
        raise MissingKey(
            f"The model `{self.provider.name}/{self.model}` needs an API key, and none is set. "
            f"Set {self.provider.key_variables.replace(' ', ' or ')}, or pass `LLM(api_key=...)`."
        )


_ADDRESS_NEEDED = {"azure", "azure_ai", "litellm_proxy", "databricks", "watsonx"}


def _first_variable(variables: str) -> str | None:
    # Secrets that are read from files often end with a line break, which HTTP does not allow in a header.
    return next((value for name in variables.split() if (value := os.environ.get(name, "").strip())), None)


def _complete_address(host: str) -> str:
    """Complete an address: `OLLAMA_HOST` may lack scheme and port, and 0.0.0.0 is only an address to listen on."""
    address = host if "://" in host else f"http://{host}"
    address = address.replace("//0.0.0.0", "//127.0.0.1").rstrip("/").removesuffix("/v1")
    return address if re.search(r":\d+$|://[^/]+/|^https:", address) else f"{address}:11434"


def find_provider(name: str) -> Provider | None:
    """Return the provider with a name or alias, if there is one."""
    lowered = name.lower()
    return PROVIDERS.get(_ALIASES.get(lowered, lowered))


def slashed(name: str, provider: str | None = None) -> str:
    """Return the name of a model with "provider/" in front, where it has the "provider:" of LangChain's `init_chat_model`."""
    prefix, colon, model = name.strip().partition(":")
    known = (
        find_provider(prefix) if colon and model and prefix != "mistral" else None
    )  # Ollama has a model `mistral:7b`
    return f"{prefix}/{model}" if known and (provider is None or find_provider(provider) is known) else name


def locate(model: str, *, provider: str | None = None, base_url: str | None = None) -> Target:
    """Determine the provider of a model and its name there.

    Args:
        model: "provider/model", "provider:model", or the bare name of a well-known model. Only the first part is the
            provider: "openai/meta/llama" is the model "meta/llama" of a server with OpenAI's protocol.
        provider: The provider, if the name does not include it.
        base_url: An address of a server with OpenAI's protocol, used for names without a known provider.

    Raises:
        UnknownModel: The provider cannot be determined.
    """
    name = slashed(model.strip(), provider)
    prefix, slash, rest = name.partition("/")
    named_provider = find_provider(provider) if provider else None
    if provider and named_provider is None:
        near = suggestion(provider, _SPELLINGS)
        raise UnknownModel(
            f"`{provider}` is not a known provider.{near} Known providers: {', '.join(sorted(PROVIDERS))}."
        )
    if named_provider is None and slash and rest:
        named_provider = find_provider(prefix)
        if named_provider is not None:
            return Target(named_provider, _native_name(named_provider, rest))
    if named_provider is not None:
        model_name = rest if slash and rest and find_provider(prefix) is named_provider else name
        return Target(named_provider, _native_name(named_provider, model_name))
    for pattern, known in _BARE_NAMES:
        if pattern.match(name.lower()):
            return Target(PROVIDERS[known], name)
    if name and (base_url or _first_variable(_OPENAI_BASES)):
        return Target(PROVIDERS["openai"], name)
    raise UnknownModel(
        f"The provider of the model `{model}` is unknown.{_remedy(name)} Providers are {', '.join(sorted(PROVIDERS))}. "
        f"Ways to specify a model:\n{CHOICES}"
    )


def _remedy(name: str) -> str:
    """Return what to write instead of the name of a model whose provider is unknown, as a sentence after a space."""
    prefix, separator, model = name.replace(":", "/", 1).partition("/") if "/" not in name else name.partition("/")
    if find_provider(prefix) is not None:
        return f" Write `{prefix}/{model or '<model>'}`: the provider, a slash, the model."
    if separator and (question := suggestion(prefix.lower(), _SPELLINGS)):
        return question
    return f" Put it in front of the name: `<provider>/{name or '<model>'}`."


def _native_name(provider: Provider, name: str) -> str:
    if provider.name == "gemini":
        return name.removeprefix("models/")
    if provider.name == "bedrock":
        return name.removeprefix("converse/").removeprefix("invoke/")
    if provider.name == "fireworks_ai" and not name.startswith("accounts/"):
        return f"accounts/fireworks/models/{name}"
    if provider.name == "huggingface" and name.count("/") == 2:
        host, _, model = name.partition("/")
        return f"{model}:{host}"
    return name
