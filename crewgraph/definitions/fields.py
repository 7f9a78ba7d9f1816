"""The types of the fields of agents, tasks and crews: pydantic annotations that validate and convert what users pass.

Invalid values are rejected in the constructor, before a model is paid. Fields read by an extension (skills, remote agents,
files) load nothing until they are used.
"""

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    RootModel,
    ValidationError,
    ValidationInfo,
    create_model,
    model_validator,
)

from crewgraph.definitions.base import Definition, refuse_single
from crewgraph.deprecations import warn_deprecated
from crewgraph.errors import CompileError, ModelError, NoModelError
from crewgraph.extensions import extension
from crewgraph.extras import require
from crewgraph.knowledge.passage import KnowledgeConfig
from crewgraph.llm.resolve import check_model, default_model_name, llm_from_name
from crewgraph.schema import from_json_schema, is_mapping, is_sequence, not_a_model
from crewgraph.tools.adapt import as_tool
from crewgraph.tools.base import BaseTool

BUDGETS = {"max_tokens": "tokens", "max_cost": "USD", "max_seconds": "seconds"}
"""The budget fields of a crew, with their units."""


def validate_budget(name: str, value: Any) -> Any:
    """Return a budget unchanged if it is valid.

    Raises:
        ValueError: It is not a positive number, or for `max_tokens` not a whole one.
    """
    if value is None:
        return None
    whole = name == "max_tokens"
    number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value <= 0:
        kind = "a whole number above 0" if whole else "a number above 0"
        raise ValueError(f"`{name}` is {kind}, in {BUDGETS[name]}, or None for no bound; not {value!r:.60}")
    return value


def _validate_budget_field(value: Any, info: ValidationInfo) -> object:
    return validate_budget(str(info.field_name), value)


def _checked_embedder(value: object) -> object:
    if value and is_mapping(value):
        from crewgraph.storage.vectors.providers import check_provider

        check_provider(value)
    return value


EmbedderField = Annotated[Any, AfterValidator(_checked_embedder)]
"""What texts are embedded with; a dict must name a provider."""

TokenBudgetField = Annotated[int | None, BeforeValidator(_validate_budget_field)]
"""A number of tokens, at least 1; None sets no limit."""

BudgetField = Annotated[int | float | None, BeforeValidator(_validate_budget_field)]
"""A number above 0; None sets no limit."""


def _with_methods(*names: str, expected: str, advice: str = "") -> Callable[[Any], Any]:
    """Return a validator of None and of objects with some methods, which raises ValueError for others."""

    def validate(value: Any) -> Any:
        if value is None or all(callable(getattr(value, name, None)) for name in names):
            return value
        raise ValueError(f"{expected}, not {value!r:.60}{advice}")

    return validate


validate_cache_handler = _with_methods(
    "read",
    "add",
    expected="`cache_handler` is a `CacheHandler`, or an object with `read(tool, input)` and `add(tool, input, output)`",
)
"""Returns a cache handler that has `read` and `add`, or None; raises ValueError for others."""

CacheHandlerField = Annotated[Any, AfterValidator(validate_cache_handler)]
"""A `CacheHandler`, an object with its methods, or None."""


CallbackField = Annotated[
    Any, AfterValidator(_with_methods("__call__", expected="a callback is a function of one argument"))
]
"""A function, sync or async, or None."""


class AnyForm(BaseModel, defer_build=True):
    """A JSON object of any form."""

    model_config = ConfigDict(extra="allow")


def _parse_output_model(value: Any, info: ValidationInfo) -> object:
    """Convert True, `dict`, a dict of fields or a JSON schema to a model; return anything else unchanged."""
    value = without_strategy(value, str(info.field_name))
    if value is True or value is dict:
        model: object = AnyForm
    elif is_mapping(value):
        model = _model_from_mapping(value)
    else:
        if value not in (None, False) and (problem := not_a_model(str(info.field_name), value)):
            raise ValueError(problem)
        if info.field_name == "output_json" and isinstance(value, type) and not _makes_objects(value):
            name = getattr(value, "__name__", "")
            raise ValueError(f"`output_json` makes a dict, and `{name}` is none; pass it as `output_pydantic`")
        return None if value is False else value
    warn_deprecated(f"`{info.field_name}` of a task is not a pydantic model", "pass one", by_hand=True)
    return model


def without_strategy(value: Any, name: str) -> Any:
    """Return the model in a `ToolStrategy` or `ProviderStrategy` of `create_agent`: agents choose the way to it themselves.

    Args:
        value: what a program passed.
        name: the name of the field or argument, for the error.

    Raises:
        ValueError: the strategy has several models.
    """
    kind = value.__class__
    if not (kind.__module__.startswith("langchain.agents.") and kind.__name__.endswith("Strategy")):
        return value
    is_one = isinstance(value.schema, (type, Mapping))
    if not is_one:
        raise ValueError(f"`{name}` takes one model, not {value.schema}. Make one with a field for each of them.")
    return value.schema


def _makes_objects(model: Any) -> bool:
    return not issubclass(model, RootModel) or model.model_json_schema().get("type", "object") == "object"


def _model_from_mapping(form: Mapping[str, object]) -> type[BaseModel]:
    if isinstance(form.get("properties"), Mapping):
        return from_json_schema(form, name=str(form.get("title") or "Form"))
    fields: dict[str, Any] = {name: _field_definition(of) for name, of in form.items()}
    return create_model("Form", **fields) if fields else AnyForm


def _field_definition(of: object) -> tuple[object, object]:
    """Return the definition of a field from its type or its description."""
    return (str, Field(description=of)) if isinstance(of, str) else (of if isinstance(of, type) else Any, ...)


OutputModelField = Annotated[type[BaseModel] | None, BeforeValidator(_parse_output_model)]
"""A pydantic model. Older programs pass a dict of names and types, a JSON schema, `dict` or True."""


validate_rpm_controller = _with_methods(
    "check_or_wait", expected="`rpm_controller` is an `RPMController`, or an object with `check_or_wait()`"
)
"""Returns a controller that has `check_or_wait()`, or None; raises ValueError for others."""

MaxRPMField = Annotated[int | None, AfterValidator(lambda rpm: rpm if rpm and rpm > 0 else None)]
"""Requests per minute; None, 0 or less sets no limit."""

RPMControllerField = Annotated[Any, AfterValidator(validate_rpm_controller)]
"""An `RPMController`, an object with `check_or_wait()`, or None."""


def _parse_servers(servers: list[Any] | None) -> list[object] | None:
    """Convert dicts to servers; addresses are checked when a crew is compiled."""
    if servers is None:
        return None
    if not any(isinstance(server, Mapping) for server in servers):
        return servers
    from crewgraph.tools.mcp.server import parse_reference

    return [parse_reference(server).server if isinstance(server, Mapping) else server for server in servers]


MCPServersField = Annotated[list[Any] | None, AfterValidator(_parse_servers)]
"""Addresses, `MCPServerStdio`, `MCPServerHTTP` and `MCPServerSSE` objects, or their fields as dicts."""


def _check_middleware(middleware: list[Any]) -> list[Any]:
    if middleware:
        require("langchain.agents", extra="middleware", purpose="`Agent(middleware=[...])`")
        extension("middleware.check")(middleware)
    return middleware


MiddlewareField = Annotated[list[Any], AfterValidator(_check_middleware)]
"""LangChain's middleware; the package is imported when there is any."""


def _instantiate_tool_classes(tools: Any) -> object:
    """Instantiate tool classes that need no arguments. What is no list is left as it is and rejected later."""
    if not is_sequence(tools):
        return tools
    return [_instantiate_tool(tool) if isinstance(tool, type) else tool for tool in tools]


def _instantiate_tool(kind: type[Any]) -> object:
    try:
        tool = kind()
    except (TypeError, ValidationError):
        return kind  # it needs arguments; rejected by `_validate_tools`
    warn_deprecated(f"`tools=[{kind.__name__}]`, a class", f"write `tools=[{kind.__name__}()]`")
    return tool


def _validate_tools(tools: list[Any] | None) -> list[object] | None:
    for tool in tools or ():
        as_tool(tool)
    return tools


ToolsField = Annotated[
    list[Any] | None,
    BeforeValidator(_instantiate_tool_classes),
    BeforeValidator(refuse_single),
    AfterValidator(_validate_tools),
]
"""A list of crewgraph tools, LangChain tools, or functions with a docstring."""

AgentToolsField = Annotated[ToolsField, AfterValidator(lambda tools: [] if tools is None else tools)]
"""A `ToolsField` in which None is an empty list."""


def _parse_verbose(value: Any) -> object:
    if not isinstance(value, int):
        return value
    if value not in (0, 1):
        warn_deprecated(f"`verbose={value}`", "write `verbose=True`")
    return value > 0


VerboseField = Annotated[bool, BeforeValidator(_parse_verbose)]
"""A bool; numbers are CrewAI's former levels, 0 is off."""


def _checked_model(value: Any) -> Any:
    """Return the value if it is a model, or names one; an empty name stands for no model."""
    if not (isinstance(value, str) and not value.strip()):
        try:
            check_model(value)
        except ModelError as error:
            raise ValueError(str(error)) from None
    return value


def _named_model(value: Any) -> object:
    return llm_from_name(_checked_model(value))


def _model_or_default(value: Any) -> object:
    """Return a model, or the one that it names; for None the model that the environment names, or None if it names none."""
    llm = _named_model(value)
    if llm is not None:
        return llm
    from crewgraph.llm.llm import LLM

    try:
        return LLM(default_model_name())
    except NoModelError:
        return None


def _serialize_model(model: object) -> object:
    """Serialize a model as the keywords of its constructor, without the API key."""
    from crewgraph.llm.llm import LLM

    return model.to_config_dict() if isinstance(model, LLM) else model


_SerializedModel = PlainSerializer(_serialize_model, when_used="json-unless-none")

ModelField = Annotated[Any, AfterValidator(_named_model), _SerializedModel]
"""A model; a name is converted to an `LLM`."""

KeptModelField = Annotated[Any, AfterValidator(_checked_model)]
"""A model, or a name; either is kept as it is."""

ModelOrDefaultField = Annotated[Any, AfterValidator(_model_or_default), Field(validate_default=True), _SerializedModel]
"""A model; None is replaced by the model that the environment names, if any."""


_validate_memory_store = _with_methods(
    "save",
    "search",
    expected="a memory of a crew is a `ShortTermMemory`, `LongTermMemory`, `EntityMemory` or `ExternalMemory`, or an object "
    "with `save` and `search`",
)

_validate_memory_object = _with_methods(
    "remember",
    "recall",
    expected="`memory` is True, False or a `Memory`, or an object with `remember` and `recall`",
    advice=". A memory of one kind is given as `short_term_memory`, `long_term_memory`, ...",
)


def _validate_memory(memory: object) -> object:
    return memory if isinstance(memory, bool) else _validate_memory_object(memory)


MemoryStoreField = Annotated[Any, AfterValidator(_validate_memory_store)]
"""A memory of one kind, an object with `save` and `search`, or None."""

MemoryField = Annotated[Any, AfterValidator(_validate_memory)]
"""A bool, a `Memory`, or an object with `remember` and `recall`."""


def _parse_sources(sources: Any) -> list[object] | None:
    if not sources:
        return sources
    from crewgraph.knowledge.source.kinds import as_sources

    return as_sources(sources if is_sequence(sources) else [sources])


_validate_knowledge = _with_methods(
    "query",
    "reset",
    expected="`knowledge` is a `Knowledge`",
    advice="; pass texts and files as `knowledge_sources=[...]`",
)


def _parse_knowledge_config(config: object) -> KnowledgeConfig | None:
    if config is None or isinstance(config, KnowledgeConfig):
        return config
    if isinstance(config, Mapping):
        return KnowledgeConfig.model_validate(config)
    raise ValueError(f"`knowledge_config` is a `KnowledgeConfig`, or its fields as a dict, not {config!r:.60}")


KnowledgeSourcesField = Annotated[Any, AfterValidator(_parse_sources)]
"""A list of knowledge sources: sources, texts, `Path`s, LangChain retrievers, loaders and documents."""

KnowledgeField = Annotated[Any, AfterValidator(_validate_knowledge)]
"""A `Knowledge`, or an object with `query` and `reset`."""

KnowledgeConfigField = Annotated[Any, AfterValidator(_parse_knowledge_config)]
"""A `KnowledgeConfig`, or its fields as a dict."""


def resolve_knowledge(current: Any, sources: list[Any] | None, name: str, storage: object, embedder: object) -> Any:
    """Return the user's knowledge, or one built from the sources; it is rebuilt when these have changed.

    Args:
        current: The current knowledge: passed by the user, built by this function, or None.
        sources: The sources to build it from.
        name: The name of its collection.
        storage: Where it is stored.
        embedder: The embedder of its texts.
    """
    if current is not None and not getattr(current, "made_of", None):
        return current
    if not sources:
        return None
    key = (*map(id, sources), id(storage), id(embedder))
    if current is not None and current.made_of == key:
        return current
    from crewgraph.knowledge.knowledge import Knowledge

    knowledge = Knowledge(name, sources, embedder, storage=storage)
    knowledge.made_of = key
    return knowledge


class MemoryFields(BaseModel, defer_build=True):
    """The memory and knowledge fields of crews."""

    memory: MemoryField = False
    """The crew's memory: True creates those of the four memories below that are not given; a `Memory` is used for everything."""

    short_term_memory: MemoryStoreField = None
    """Remembers tool results and answers."""

    long_term_memory: MemoryStoreField = None
    """Remembers how well tasks were done, and what to improve."""

    entity_memory: MemoryStoreField = None
    """Remembers facts about people, places and things."""

    external_memory: MemoryStoreField = None
    """A memory stored by another service."""

    contextual_memory: bool = False
    """Equivalent to `memory`."""

    memory_config: dict[str, Any] | None = None
    """The configuration that `external_memory` is created from if memory is on: `{"provider": "mem0", "config": {...}}`."""

    embedder: EmbedderField = None
    """The embedder of the memories and the knowledge that are created:
    `{"provider": "openai", "config": {"model_name": "text-embedding-3-small"}}`, a function, or LangChain's `Embeddings`. None
    takes the local one, which needs no key."""

    knowledge: KnowledgeField = None
    """The knowledge of all agents; built from `knowledge_sources` if not given."""

    knowledge_sources: KnowledgeSourcesField = None
    """The sources of that knowledge: sources, texts, `Path`s, LangChain retrievers, loaders and documents, such as
    `["The mill closes at noon.", Path("opening_hours.pdf")]`."""


def code_execution_tools(mode: str, where: str) -> list[BaseTool]:
    """Return the tools that run code.

    Args:
        mode: "safe" or "unsafe", as `Agent.code_execution_mode`.
        where: The agent, for error messages.

    Raises:
        CompileError: The mode is "unsafe".
    """
    if mode == "unsafe":
        raise CompileError(
            f'`code_execution_mode="unsafe"` of {where} would run what a model wrote on this machine, with all that you may do '
            'here; it is refused. Leave it "safe", which uses Docker, or pass a `CodeInterpreterTool` of your own in `tools`.'
        )
    from crewgraph.tools.code import CodeInterpreterTool

    return [CodeInterpreterTool()]


class SkillFields(Definition):
    """The skills field of agents and crews."""

    skills: list[Any] | None = None
    """Skills that are read on demand: a folder of skills, the folder of one skill, `Skill` objects, and registry names
    (`@org/name`) of skills installed on this machine. Agents also have the skills of their crew."""

    @model_validator(mode="after")
    def _load_skills(self) -> Self:
        if self.skills:
            self.skills = extension("skills.read")(self.skills, (), self)
        return self


def _parse_remote_agents(value: Any) -> object:
    return None if value is None else extension("a2a.read")(value)


RemoteAgentsField = Annotated[Any, AfterValidator(_parse_remote_agents)]
"""An `A2AClientConfig`, its fields as a dict, or a list of these."""


def _parse_files(value: Any) -> dict[str, object]:
    return {} if value is None or (is_mapping(value) and not value) else extension("files.read")(value)


FilesField = Annotated[dict[str, Any], BeforeValidator(_parse_files)]
"""Files by name."""
