"""Budgets of a run as users give them to crews.

What keeps results of tools, as users give it to agents and crews.

Functions as users give them to agents, tasks and crews, to be told of something.

The form of a result, as users give it to tasks.

Bounds on model requests as users give them to agents and crews.

MCP servers as users give them to agents.

Tools, as users give them to agents and tasks.

Whether work is shown, as users say so of agents and crews.

Models as users give them to agents.

Memories as users give them to crews and agents.

Knowledge as users give it to agents and crews.

Memory and knowledge as users give them to crews.

The tools of agents that run code.

Fields that an extension reads: skills, remote agents, files. One that is not used loads nothing.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Self, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
    create_model,
    model_validator,
)

from crewgraph.definitions.base import Definition
from crewgraph.deprecations import warn_deprecated
from crewgraph.errors import CompileError, NoModelError
from crewgraph.extensions import extension
from crewgraph.knowledge.passage import KnowledgeConfig
from crewgraph.lazy import lazy
from crewgraph.llm.llm import LLM
from crewgraph.llm.resolve import default_name, llm_named
from crewgraph.schema import from_json_schema
from crewgraph.tools.adapt import as_tool
from crewgraph.tools.base import BaseTool

if TYPE_CHECKING:
    from crewgraph.knowledge.knowledge import Knowledge
    from crewgraph.knowledge.source.kinds import as_sources
    from crewgraph.tools.code import CodeInterpreterTool
    from crewgraph.tools.mcp.server import reference
else:
    reference = lazy("crewgraph.tools.mcp.server:reference")
    Knowledge = lazy("crewgraph.knowledge.knowledge:Knowledge")
    as_sources = lazy("crewgraph.knowledge.source.kinds:as_sources")
    CodeInterpreterTool = lazy("crewgraph.tools.code:CodeInterpreterTool")

__all__ = [
    "BUDGETS",
    "AnyForm",
    "BudgetField",
    "CacheHandlerField",
    "CallbackField",
    "FilesField",
    "KnowledgeConfigField",
    "KnowledgeField",
    "KnowledgeSourcesField",
    "MCPServersField",
    "MaxRPMField",
    "MemoryField",
    "MemoryFields",
    "MemoryStoreField",
    "ModelField",
    "ModelOrDefaultField",
    "OutputModelField",
    "RPMControllerField",
    "RemoteAgentsField",
    "SkillFields",
    "TokenBudgetField",
    "ToolsField",
    "VerboseField",
    "code_execution_tools",
    "resolve_knowledge",
    "validate_budget",
    "validate_cache_handler",
    "validate_rpm_controller",
]


BUDGETS = ("max_tokens", "max_cost", "max_seconds")
"""The fields of a crew."""

_UNITS = {"max_tokens": "tokens", "max_cost": "USD", "max_seconds": "seconds"}


def validate_budget(name: str, value: Any) -> Any:
    """What was given, if it can bound anything.

    Raises:
        ValueError: it is no positive number, or for tokens no whole one.
    """
    if value is None:
        return None
    whole = name == "max_tokens"
    number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value <= 0:
        kind = "a whole number above 0" if whole else "a number above 0"
        raise ValueError(f"`{name}` is {kind}, in {_UNITS[name]}, or None for no bound; not {value!r:.60}")
    return value


def _validate_budget_field(value: Any, info: ValidationInfo) -> Any:
    return validate_budget(str(info.field_name), value)


TokenBudgetField = Annotated[int | None, BeforeValidator(_validate_budget_field)]
"""How many tokens, at least 1; None sets no bound."""

BudgetField = Annotated[int | float | None, BeforeValidator(_validate_budget_field)]
"""How much, above 0; None sets no bound."""


def validate_cache_handler(handler: Any) -> Any:
    """What was given, if results can be kept with it.

    Raises:
        ValueError: they cannot.
    """
    if handler is not None and not all(callable(getattr(handler, name, None)) for name in ("read", "add")):
        raise ValueError(
            "`cache_handler` is a `CacheHandler`, or an object with `read(tool, input)` and `add(tool, input, output)`, not "
            f"{handler!r:.60}"
        )
    return handler


CacheHandlerField = Annotated[Any, AfterValidator(validate_cache_handler)]
"""A `CacheHandler`, an object like one, or None; anything else is refused at once."""


def _validate_callback(callback: Any) -> Any:
    if callback is not None and not callable(callback):
        raise ValueError(f"a callback is a function of one argument, not {callback!r:.60}")
    return callback


CallbackField = Annotated[Any, AfterValidator(_validate_callback)]
"""A function, sync or async, or None; anything else is refused at once, before a model is paid."""


class AnyForm(BaseModel):
    """A JSON object of any form."""

    model_config = ConfigDict(extra="allow")


def _parse_output_model(given: Any) -> Any:
    """The model that a dict, a JSON schema or the word that it is to be JSON stand for; anything else as it is."""
    if given is True or given is dict:
        made: Any = AnyForm
    elif isinstance(given, Mapping):
        made = _model_from_mapping(cast("Mapping[str, Any]", given))
    else:
        return None if given is False else given
    warn_deprecated("`output_json` of a task that is no model", "give a pydantic model", by_hand=True)
    return made


def _model_from_mapping(form: Mapping[str, Any]) -> type[BaseModel]:
    if isinstance(form.get("properties"), Mapping):
        return from_json_schema(form, name=str(form.get("title") or "Form"))
    fields: dict[str, Any] = {name: _field_definition(of) for name, of in form.items()}
    return create_model("Form", **fields) if fields else AnyForm


def _field_definition(of: Any) -> tuple[Any, Any]:
    """A field by its type, or by a text that says what it is."""
    return (str, Field(description=of)) if isinstance(of, str) else (of if isinstance(of, type) else Any, ...)


OutputModelField = Annotated[type[BaseModel] | None, BeforeValidator(_parse_output_model)]
"""A pydantic model. Older programs give a dict of names and types, a JSON schema, `dict` or True."""


def _validate_max_rpm(max_rpm: int | None) -> int | None:
    if max_rpm is not None and max_rpm < 1:
        raise ValueError(f"`max_rpm` must be 1 or more, or None for no bound, not {max_rpm}")
    return max_rpm


def validate_rpm_controller(controller: Any) -> Any:
    """What was given, if requests can wait for it.

    Raises:
        ValueError: they cannot.
    """
    if controller is not None and not callable(getattr(controller, "check_or_wait", None)):
        raise ValueError(
            f"`rpm_controller` is an `RPMController`, or an object with `check_or_wait()`, not {controller!r:.60}"
        )
    return controller


MaxRPMField = Annotated[int | None, AfterValidator(_validate_max_rpm)]
"""How many requests a minute, at least 1; None sets no bound."""

RPMControllerField = Annotated[Any, AfterValidator(validate_rpm_controller)]
"""What requests wait for, or None; anything else is refused at once."""


def _parse_servers(servers: list[Any] | None) -> list[Any] | None:
    """What was given, dicts read as the servers they describe; addresses are looked at when a crew is compiled."""
    if servers is None:
        return None
    if not any(isinstance(one, Mapping) for one in servers):
        return servers
    return [reference(one).server if isinstance(one, Mapping) else one for one in servers]


MCPServersField = Annotated[list[Any] | None, AfterValidator(_parse_servers)]
"""Addresses, `MCPServerStdio`, `MCPServerHTTP` and `MCPServerSSE`, or their fields as dicts."""


def _instantiate_tool_classes(tools: Any) -> Any:
    """Classes of tools that need no arguments are made; a single tool stays what it is, and is refused as no list."""
    if not isinstance(tools, (list, tuple)):
        return tools
    return [_instantiate_tool(tool) if isinstance(tool, type) else tool for tool in cast("list[Any]", tools)]


def _instantiate_tool(kind: type[Any]) -> Any:
    try:
        made = kind()
    except (TypeError, ValidationError):
        return kind  # it wants arguments: told with what a tool is
    warn_deprecated(f"`tools=[{kind.__name__}]`, a class", f"write `tools=[{kind.__name__}()]`")
    return made


def _validate_tools(tools: list[Any] | None) -> list[Any] | None:
    for tool in tools or ():
        as_tool(tool)
    return tools


ToolsField = Annotated[list[Any] | None, BeforeValidator(_instantiate_tool_classes), AfterValidator(_validate_tools)]
"""crewgraph tools, LangChain tools, or functions with a docstring; anything else is refused at once."""


def _parse_verbose(given: Any) -> Any:
    if not isinstance(given, int):
        return given
    if given not in (0, 1):
        warn_deprecated(f"`verbose={given}`", "write `verbose=True`")
    return given > 0


VerboseField = Annotated[bool, BeforeValidator(_parse_verbose)]
"""Numbers are taken as CrewAI's former levels: 0 is off."""


def _model_or_default(given: Any) -> Any:
    """What `llm_named` gives; for None the environment's model, or None where it names none yet."""
    made = llm_named(given)
    if made is not None:
        return made
    try:
        return LLM(default_name())
    except NoModelError:
        return None


def _serialize_model(model: Any) -> Any:
    """A model by the keywords that make it again, without its key."""
    return model.to_config_dict() if isinstance(model, LLM) else model


_SerializedModel = PlainSerializer(_serialize_model, when_used="json-unless-none")

ModelField = Annotated[Any, AfterValidator(llm_named), _SerializedModel]
"""A model; a name is an `LLM` from then on, whose attributes can be read and changed."""

ModelOrDefaultField = Annotated[Any, AfterValidator(_model_or_default), Field(validate_default=True), _SerializedModel]
"""The same, and the one that the environment names where none was given."""


def _validate_memory_store(memory: Any) -> Any:
    if memory is not None and not _has_methods(memory, "save", "search"):
        raise ValueError(
            "a memory of a crew is a `ShortTermMemory`, `LongTermMemory`, `EntityMemory` or `ExternalMemory`, or an object "
            f"with `save` and `search`, not {memory!r:.60}"
        )
    return memory


def _validate_memory(memory: Any) -> Any:
    if memory is None or isinstance(memory, bool) or _has_methods(memory, "remember", "recall"):
        return memory
    raise ValueError(
        "`memory` is True, False or a `Memory`, or an object with `remember` and `recall`, not "
        f"{memory!r:.60}. A memory of one kind is given as `short_term_memory`, `long_term_memory`, ..."
    )


def _has_methods(memory: Any, *verbs: str) -> bool:
    return all(callable(getattr(memory, verb, None)) for verb in verbs)


MemoryStoreField = Annotated[Any, AfterValidator(_validate_memory_store)]
"""A memory of one kind, or None; anything else is refused at once."""

MemoryField = Annotated[Any, AfterValidator(_validate_memory)]
"""Whether something is remembered, or a memory for everything; anything else is refused at once."""


def _parse_sources(given: Any) -> list[Any] | None:
    if not given:
        return given
    return as_sources(cast(list[Any], given) if isinstance(given, (list, tuple)) else [given])


def _validate_knowledge(given: Any) -> Any:
    if given is None or all(callable(getattr(given, name, None)) for name in ("query", "reset")):
        return given
    raise ValueError(
        f"`knowledge` is a `Knowledge`, not {given!r:.60}; give texts and files as `knowledge_sources=[...]`"
    )


def _parse_knowledge_config(given: Any) -> KnowledgeConfig | None:
    if given is None or isinstance(given, KnowledgeConfig):
        return given
    if isinstance(given, Mapping):
        return KnowledgeConfig.model_validate(given)
    raise ValueError(f"`knowledge_config` is a `KnowledgeConfig`, or its fields as a dict, not {given!r:.60}")


KnowledgeSourcesField = Annotated[Any, AfterValidator(_parse_sources)]
"""A list of what knowledge comes from: sources, texts, `Path`s, LangChain retrievers, loaders and documents."""

KnowledgeField = Annotated[Any, AfterValidator(_validate_knowledge)]
"""A `Knowledge`, or an object like one."""

KnowledgeConfigField = Annotated[Any, AfterValidator(_parse_knowledge_config)]
"""A `KnowledgeConfig`, or its fields as a dict."""


def resolve_knowledge(given: Any, sources: list[Any] | None, name: str, storage: Any, embedder: Any) -> Any:
    """The knowledge that was given; else that of the sources, which is made anew where these have changed.

    Args:
        given: what there is: given by the user, or made by this function.
        sources: where it comes from.
        name: what its collection is called.
        storage: where it is kept.
        embedder: what turns it into vectors.
    """
    if given is not None and not getattr(given, "made_of", None):
        return given
    if not sources:
        return None
    of = (*map(id, sources), id(storage), id(embedder))
    if given is not None and given.made_of == of:
        return given
    made = Knowledge(name, sources, embedder, storage=storage)
    made.made_of = of
    return made


class MemoryFields(BaseModel):
    """What crews have of memories and knowledge."""

    memory: MemoryField = False
    """Whether it remembers: True makes the kinds below that are not given; or a `Memory` for everything."""

    short_term_memory: MemoryStoreField = None
    """What was found out with tools, and answers."""

    long_term_memory: MemoryStoreField = None
    """How well tasks were done, and what is to be done better."""

    entity_memory: MemoryStoreField = None
    """What it knows of people, places and things."""

    external_memory: MemoryStoreField = None
    """A memory that lives elsewhere."""

    contextual_memory: bool = False
    """The same as `memory`: whether it remembers, so that agents are told of it."""

    memory_config: dict[str, Any] | None = None
    """Where it remembers and has no `external_memory`, what makes one: `{"provider": "mem0", "config": {...}}`."""

    embedder: Any = None
    """What turns texts into vectors, for the memories that are made."""

    knowledge: KnowledgeField = None
    """What all of its agents know; made of `knowledge_sources` where it is not given."""

    knowledge_sources: KnowledgeSourcesField = None
    """Where that comes from: sources, texts, `Path`s, LangChain retrievers, loaders and documents."""


def code_execution_tools(mode: str, where: str) -> list[BaseTool]:
    """What runs code in a mode.

    Raises:
        CompileError: the mode is "unsafe".
    """
    if mode == "unsafe":
        raise CompileError(
            f'`code_execution_mode="unsafe"` of {where} would run what a model wrote on this machine, with all that you may do '
            'here; it is refused. Leave it "safe", which takes Docker, or give a `CodeInterpreterTool` of your own in `tools`.'
        )
    return [CodeInterpreterTool()]


class SkillFields(Definition):
    """What agents and crews have of skills."""

    skills: list[Any] | None = None
    """Instructions that are read when they are wanted: folders of skills, the folder of one, `Skill`s, and names in a
    registry (`@org/name`) that are on this machine. An agent has those of its crew, too."""

    @model_validator(mode="after")
    def _load_skills(self) -> Self:
        if self.skills:
            self.skills = extension("skills.read")(self.skills, (), self)
        return self


def _parse_remote_agents(given: Any) -> Any:
    return None if given is None else extension("a2a.read")(given)


RemoteAgentsField = Annotated[Any, AfterValidator(_parse_remote_agents)]
"""`A2AClientConfig`, its fields as a dict, or a list of these."""


def _parse_files(given: Any) -> dict[str, Any]:
    is_empty = given is None or (isinstance(given, Mapping) and not cast("Mapping[str, Any]", given))
    return {} if is_empty else extension("files.read")(given)


FilesField = Annotated[dict[str, Any], BeforeValidator(_parse_files)]
"""Files by name."""
