"""Which name of crewgraph a dotted path means, and the names, keywords and attributes of older programs."""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from crewgraph_compat.surface.absent import reason
from crewgraph_compat.surface.reexports import target
from crewgraph_compat.surface.table import TABLE

__all__ = [
    "ATTRIBUTES",
    "FULL_OUTPUT",
    "KEYWORDS",
    "OF_TEXTS",
    "OUTPUTS",
    "RENAMED",
    "WITHOUT_EFFECT",
    "ResolvedName",
    "import_location",
    "import_target",
    "is_module",
    "module_location",
    "public_names",
    "replacement_of",
    "resolve_moved_name",
    "resolve_name",
]


_PUBLIC = (
    "crewgraph.tools",
    "crewgraph.flow",
    "crewgraph",
    "crewgraph.flow.persistence",
    "crewgraph.project",
    "crewgraph.knowledge",
    "crewgraph.memory",
    "crewgraph.events",
    "crewgraph.hooks",
    "crewgraph.storage.checkpoints",
    "crewgraph.storage.store",
    "crewgraph.errors",
)
"""Where crewgraph's programs import from; the first that has a name is its home."""

_MODULES = {
    "crewai": "crewgraph",
    "crewai.events": "crewgraph.events",
    "crewai.flow": "crewgraph.flow",
    "crewai.flow.flow": "crewgraph.flow",
    "crewai.flow.persistence": "crewgraph.flow.persistence",
    "crewai.knowledge": "crewgraph.knowledge",
    "crewai.memory": "crewgraph.memory",
    "crewai.project": "crewgraph.project",
    "crewai.tools": "crewgraph.tools",
    "crewai.utilities.events": "crewgraph.events",
}
"""Modules that stand for a module of crewgraph as a whole."""

_FORMERLY = {
    "crewai_tools.BaseTool": "crewai.tools.BaseTool",
    "crewai_tools.Tool": "crewai.tools.base_tool.Tool",
    "crewai_tools.tool": "crewai.tools.tool",
    "crewai_tools.tools.base_tool.BaseTool": "crewai.tools.BaseTool",
    "crewai_tools.tools.base_tool.Tool": "crewai.tools.base_tool.Tool",
    "crewai_tools.tools.base_tool.tool": "crewai.tools.tool",
}
"""Names that stood elsewhere in older versions."""


@dataclass(frozen=True)
class ResolvedName:
    """A name of crewai, with what is behind it."""

    path: str
    """crewai's dotted path, as the program has it."""

    target: str
    """ "module:name" of crewgraph, as in the table."""

    rest: tuple[str, ...] = ()
    """Attributes of it, where the path goes on."""

    @property
    def module(self) -> str:
        """The module of crewgraph that defines it."""
        return self.target.partition(":")[0]

    @property
    def name(self) -> str:
        """What it is called in crewgraph."""
        return self.target.partition(":")[2]


def resolve_name(path: str) -> ResolvedName | None:
    """What a dotted path means: a module's name, and attributes behind it; None for modules, and where there is nothing."""
    path = _FORMERLY.get(path) or path
    if is_module(path):
        return None
    parts = path.split(".")
    for end in range(len(parts) - 1, 0, -1):
        where = target(".".join(parts[:end]), parts[end])
        if where is not None:
            return ResolvedName(path, where, tuple(parts[end + 1 :]))
    return None


def resolve_moved_name(path: str) -> ResolvedName | None:
    """What a dotted path means; where its module is none of the table, the one thing of this name that there is.

    Old programs name modules that have moved since. What is left out on purpose is not looked for.
    """
    if (name := resolve_name(path)) is not None or reason(path) is not None:
        return name
    module, _, last = path.rpartition(".")
    if module in TABLE or path in TABLE or not module.startswith("crewai."):
        return None
    targets = {names[last] for names in TABLE.values() if last in names}
    return ResolvedName(path, targets.pop()) if len(targets) == 1 else None


def is_module(path: str) -> bool:
    """Whether a path is a module of crewai; a name that a package has hides the module that is called so."""
    package, _, name = path.rpartition(".")
    return path in TABLE and name not in TABLE.get(package, ())


def public_names(module: str) -> dict[str, str]:
    """The names of a module of crewai, to "module:name"; none where there is no such module."""
    return TABLE.get(module, {})


def import_target(name: ResolvedName) -> Any:
    """What is behind a name: crewgraph's own class, function or value."""
    return getattr(importlib.import_module(name.module), name.name)


def import_location(name: ResolvedName) -> tuple[str, str]:
    """The module that crewgraph's programs import a name from, and what it is called there."""
    return _home(name.target)


@cache
def _home(where: str) -> tuple[str, str]:
    module, _, name = where.partition(":")
    if module.partition(".")[0] != "crewgraph":  # what crewai's modules merely import, as of `typing`
        return module, name
    wanted = getattr(importlib.import_module(module), name)
    for place, offered in _offered():
        if name in offered and getattr(place, name) is wanted:
            return place.__name__, name
    return module, name


@cache
def _offered() -> tuple[tuple[Any, frozenset[str]], ...]:
    return tuple((module, frozenset(module.__all__)) for module in _imported())


def _imported() -> Iterator[Any]:
    for module in _PUBLIC:
        try:
            yield importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise


def module_location(module: str) -> str | None:
    """The module of crewgraph that stands for a module of crewai as a whole; None where there is none."""
    return _MODULES.get(module)


_CORE_TOOLS = ("BaseTool", "StructuredTool", "Tool", "tool")
_MODELS = {
    "AzureChatOpenAI": "langchain_openai",
    "ChatAnthropic": "langchain_anthropic",
    "ChatOllama": "langchain_ollama",
    "ChatOpenAI": "langchain_openai",
}
_MESSAGES = ("AIMessage", "BaseMessage", "HumanMessage", "SystemMessage")
_PROMPTS = ("ChatPromptTemplate", "MessagesPlaceholder", "PromptTemplate")

_PLACES: dict[str, str] = {
    **{
        f"{module}.{name}": "langchain_core.tools"
        for module in ("langchain.tools", "langchain.agents")
        for name in _CORE_TOOLS
    },
    **{f"langchain.tools.base.{name}": "langchain_core.tools" for name in _CORE_TOOLS},
    **{
        f"{module}.{name}": package
        for module in (
            "langchain.chat_models",
            "langchain_community.chat_models",
            "langchain.chat_models.openai",
            "langchain_community.chat_models.openai",
        )
        for name, package in _MODELS.items()
    },
    **{
        f"{module}.OpenAIEmbeddings": "langchain_openai"
        for module in ("langchain.embeddings", "langchain.embeddings.openai")
    },
    **{
        f"{module}.OpenAIEmbeddings": "langchain_openai"
        for module in ("langchain_community.embeddings", "langchain_community.embeddings.openai")
    },
    **{f"langchain.schema.{name}": "langchain_core.messages" for name in _MESSAGES},
    "langchain.schema.Document": "langchain_core.documents",
    **{f"langchain.prompts.{name}": "langchain_core.prompts" for name in _PROMPTS},
    "crewai_tools.CodeInterpreterTool": "crewgraph_compat.stand_ins.tools.code_interpreter",
    "langchain.tools.DuckDuckGoSearchRun": "langchain_community.tools",
    "langchain.tools.WikipediaQueryRun": "langchain_community.tools",
    "langchain.utilities.WikipediaAPIWrapper": "langchain_community.utilities",
}
"""The same classes and functions, where the packages of today have them."""


def replacement_of(path: str) -> tuple[str, str] | None:
    """Where a name of another package than crewai is imported from today; None where it is where it was."""
    module = _PLACES.get(path)
    return None if module is None else (module, path.rpartition(".")[2])


_OUTPUT = {
    **dict.fromkeys(("final_output", "output", "raw_output", "result"), "raw"),
    "exported_output": "pydantic, json_dict or raw",
    "get": "to_dict().get",
}

ATTRIBUTES: dict[str, dict[str, str]] = {
    "CrewOutput": _OUTPUT,
    "TaskOutput": _OUTPUT,
    "ConditionalTask": {"execute": "execute_sync(...).raw"},
    "Task": {"execute": "execute_sync(...).raw"},
}
"""Former names of what objects have, by their classes, each to what stands in its place."""

OF_TEXTS = frozenset(
    {
        "encode",
        "endswith",
        "find",
        "lower",
        "lstrip",
        "replace",
        "rstrip",
        "split",
        "splitlines",
        "startswith",
        "strip",
        "upper",
    }
)
"""Methods of texts, for which older programs take outputs."""

OUTPUTS = ("CrewOutput", "TaskOutput")
"""What crews and tasks give back."""

FULL_OUTPUT = {"final_output": "raw", "tasks_outputs": "tasks_output"}
"""What the output of a crew with `full_output=True` was asked for, to what stands in its place."""

KEYWORDS: dict[tuple[str, str], str] = {
    ("LLM", "azure"): 'write the provider before the name, `LLM(model="azure/<deployment>")`',
    ("LLM", "format"): 'write `response_format={"type": "json_object"}`',
}
"""Former keywords of models, to what stands in their place."""

WITHOUT_EFFECT = frozenset({("Crew", "full_output")})
"""Former keywords, by class, that are left out."""

RENAMED: dict[tuple[str, str], str] = {
    ("ConditionalTask", "max_retries"): "guardrail_max_retries",
    ("Task", "max_retries"): "guardrail_max_retries",
}
"""Former keywords, by class, to those of today."""
