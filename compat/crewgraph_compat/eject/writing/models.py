"""Models as LangChain chat models; keys stay in the environment."""

import json
import os
import re
from typing import Any, cast

from pydantic import BaseModel, SecretStr

from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.errors import CrewgraphError
from crewgraph.llm.llm import LLM
from crewgraph.llm.providers import Target
from crewgraph.llm.resolve import default_llm, llm_from_name
from crewgraph.llm.schemas import strict_schema
from crewgraph_compat.eject.refusals import Refusals
from crewgraph_compat.eject.writing.sheet import ProgramText

_RANK = 2
_SECRET = ("key", "apikey", "token", "secret", "password", "credential", "authorization")
_OPENAI_WORDS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "n": "n",
    "stop": "stop_sequences",
    "max_completion_tokens": "max_completion_tokens",
    "max_tokens": "max_completion_tokens",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "seed": "seed",
    "timeout": "timeout",
    "reasoning_effort": "reasoning_effort",
}
_OTHER_WORDS = {"temperature": "temperature", "max_tokens": "max_tokens", "timeout": "timeout", "top_p": "top_p"}


class ModelExpressions:
    """Write the models of a program, each once.

    Args:
        sheet: the program.
        refusals: collects the parts that have no translation.
    """

    def __init__(self, sheet: ProgramText, refusals: Refusals) -> None:
        self._sheet, self._refusals = sheet, refusals
        self._written: dict[str, str] = {}
        self._strict: set[str] = set()
        """The expressions and constants of the models that crewgraph asks for strict answers."""

        self._limiters: dict[int, str] = {}

    def of(self, agent: BaseAgentDefinition, crew: CrewDefinition | None = None) -> str:
        """Return the constant of an agent's model, rate limited if the agent or its crew says so."""
        owner = agent if agent.max_rpm or crew is None else crew
        limiter = self._limiter(owner.max_rpm, id(owner)) if owner.max_rpm else ""
        return self.name(agent.llm, agent.called, limiter)

    def _limiter(self, most: int, owner: int) -> str:
        """Return the constant of a rate limiter."""
        if owner not in self._limiters:
            self._sheet.use("langchain_core.rate_limiters", "InMemoryRateLimiter")
            name = self._limiters[owner] = self._sheet.names.new("LIMITER")
            words = f"requests_per_second={most} / 60, max_bucket_size={most}"
            self._sheet.add(f"{name} = InMemoryRateLimiter({words})", _RANK)
        return self._limiters[owner]

    def name(self, llm: Any, where: str, limiter: str = "") -> str:
        """Return the constant of a model.

        Args:
            llm: the model as passed to an agent.
            where: its owner, for messages.
            limiter: the constant of its rate limiter.
        """
        expression = self._expression(llm, where)
        is_strict = expression in self._strict
        if limiter and expression.endswith(")"):
            expression = f"{expression[:-1]}, rate_limiter={limiter})"
        if expression not in self._written:
            name = self._sheet.names.new("MODEL")
            self._sheet.add(f"{name} = {expression}", _RANK)
            self._written[expression] = name
        name = self._written[expression]
        if is_strict:
            self._strict.add(name)
        return name

    def is_strict(self, name: str, structure: type[BaseModel]) -> bool:
        """Whether crewgraph asks the model of a constant for strict answers of a class."""
        schema = strict_schema(structure) if name in self._strict else None
        return schema is not None and "$defs" not in schema  # which a class that refers to itself has

    def _expression(self, llm: Any, where: str) -> str:
        try:
            result = default_llm() if llm is None else llm_from_name(llm)
            if isinstance(result, LLM) and type(result).call is LLM.call:
                return self._named(result, where)
        except CrewgraphError as error:
            self._refusals.add(where, f"its model cannot be determined: {error}")
            return "None"
        if _is_chat_model(llm):
            return self._of_langchain(llm, where)
        self._refusals.add(where, f"its model, a `{type(llm).__name__}`, is neither a model name nor a LangChain model")
        return "None"

    def _named(self, llm: LLM, where: str) -> str:
        target = llm.target()
        provider = target.provider
        module, _, class_name = provider.model_class.partition(".")
        kin = module == "langchain_openai"
        if kin and class_name != "ChatOpenAI" or llm.fallbacks or llm.response_format is not None:
            self._refusals.add(where, f"its model `{llm.model}` (Azure, fallbacks, a response format)")
            return "None"
        words: dict[str, str] = {"model": _plain(target.model)}
        self._address(llm, target, words)
        names = _OPENAI_WORDS if kin else _OTHER_WORDS
        for name in (*_OPENAI_WORDS, "logit_bias", "logprobs", "top_logprobs", "callbacks"):
            value = getattr(llm, name)
            if value is None or value == []:
                continue
            if name not in names or not _is_plain(value):
                self._refusals.add(where, f"the parameter `{name}` of its model `{llm.model}`")
                continue
            words[names[name]] = _plain(value)
        if llm.idle_timeout is not None:
            self._refusals.add(where, f"the parameter `idle_timeout` of its model `{llm.model}`")
        if llm.additional_params:
            self._refusals.add(where, f"the parameters {sorted(llm.additional_params)} of its model `{llm.model}`")
        expression = self._call(module, class_name, words)
        if provider.name == "openai":
            self._strict.add(expression)
        return expression

    def _address(self, llm: LLM, target: Target, words: dict[str, str]) -> None:
        """Return the endpoint and the key's environment variable if they are not the defaults of the class."""
        provider = target.provider
        value = llm.base_url or (None if provider.name == "openai" else provider.base_url)
        if value and "@" in value:
            self._refusals.add(
                f"the address of the model `{llm.model}`", "it contains a password; read it from the environment"
            )
        elif value:
            words["base_url"] = _plain(value)
        own = provider.name == "openai" or not provider.model_class.startswith("langchain_openai.")
        if own or (not provider.key_variables and not provider.key_needed):
            return
        self._sheet.module("os")
        self._sheet.use("pydantic", "SecretStr")
        variables = provider.key_variables.split()
        variable = next((name for name in variables if name in os.environ), variables[0])
        read = f'os.environ["{variable}"]' if provider.key_needed else f'os.environ.get("{variable}", "none")'
        words["api_key"] = f"SecretStr({read})"

    def _of_langchain(self, llm: Any, where: str) -> str:
        kind = cast("Any", type(llm))
        words: dict[str, str] = {}
        filled = _filled(llm)
        for name in sorted(llm.model_fields_set):
            value = _given(getattr(llm, name), filled.get(name))
            field = kind.model_fields[name]
            called = str(field.alias or name) if kind.__name__ == "ChatOpenAI" else name
            if isinstance(value, SecretStr) or _is_secret(name):
                continue
            if value is None or name in ("client", "async_client", "root_client", "root_async_client"):
                continue
            if not _is_plain(value, name):
                self._refusals.add(where, f"`{name}` of its `{kind.__name__}`")
                continue
            words["model" if name == "model_name" else called] = _plain(value)
        return self._call(kind.__module__.partition(".")[0], kind.__name__, words)

    def _call(self, module: str, name: str, words: dict[str, str]) -> str:
        self._sheet.use(module, name)
        return f"{name}({', '.join(f'{word}={value}' for word, value in words.items())})"


def _is_secret(name: str) -> bool:
    return any(part in re.split("[_-]", name.lower()) for part in _SECRET)


def _filled(llm: Any) -> dict[str, Any]:
    """Return what langchain-openai sets by itself: the profile of the model, versions, empty parameters."""
    if type(llm).__name__ != "ChatOpenAI":
        return {}
    bare = type(llm)(model=llm.model_name, base_url=llm.openai_api_base, api_key=SecretStr("none"))
    return {name: getattr(bare, name) for name in bare.model_fields_set - {"model_name", "openai_api_base"}}


def _parts(value: Any) -> dict[Any, Any] | None:
    """Return a dict as one of known type; None for other values."""
    return value if type(value).__name__ == "dict" else None


def _given(value: Any, filled: Any) -> Any:
    """Return what the program gave of a value; None for nothing."""
    given, ours = _parts(value), _parts(filled)
    if given is None or ours is None:
        return None if value == filled else value
    return {key: item for key, item in given.items() if key not in ours or ours[key] != item} or None


def _is_plain(value: Any, name: str = "") -> bool:
    if (parts := _parts(value)) is not None:
        return not name.endswith("headers") and all(
            isinstance(key, str) and not _is_secret(key) and (item is None or _is_plain(item, key))
            for key, item in parts.items()
        )
    return isinstance(value, (str, int, float, bool)) or (
        isinstance(value, list) and all(isinstance(item, str) for item in value)  # pyright: ignore[reportUnknownVariableType]
    )


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (str, list)) else repr(value)


def _is_chat_model(llm: Any) -> bool:
    return any(kind.__name__ == "BaseChatModel" for kind in type(llm).__mro__)
