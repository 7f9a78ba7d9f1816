"""Map dotted paths of crewai to crewgraph, and list the names, keywords and attributes of older releases."""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from crewgraph_compat.surface.names import MODULES, own_target, target, targets_named

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
"""The modules that crewgraph programs import from; a name is imported from the first that exports it."""

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
"""Modules that map to a crewgraph module as a whole."""

_FORMERLY = {
    "crewai_tools.BaseTool": "crewai.tools.BaseTool",
    "crewai_tools.Tool": "crewai.tools.base_tool.Tool",
    "crewai_tools.tool": "crewai.tools.tool",
    "crewai_tools.tools.base_tool.BaseTool": "crewai.tools.BaseTool",
    "crewai_tools.tools.base_tool.Tool": "crewai.tools.base_tool.Tool",
    "crewai_tools.tools.base_tool.tool": "crewai.tools.tool",
}
"""Names that older releases had elsewhere."""


@dataclass(frozen=True)
class ResolvedName:
    """A crewai name with the crewgraph object that it maps to."""

    path: str
    """The dotted path in crewai, as the program writes it."""

    target: str
    """The "module:name" in crewgraph, as in the table."""

    rest: tuple[str, ...] = ()
    """Attributes accessed on the object by the rest of the path."""

    @property
    def module(self) -> str:
        """The crewgraph module that defines it."""
        return self.target.partition(":")[0]

    @property
    def name(self) -> str:
        """Its name in crewgraph."""
        return self.target.partition(":")[2]


def resolve_name(path: str) -> ResolvedName | None:
    """Resolve a dotted path to a name of a module and attributes on it; None for modules and unknown paths."""
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
    """Resolve a dotted path; if its module is unknown, fall back to the only object with this name, if there is just one.

    Older programs use modules that have since moved.
    """
    if (name := resolve_name(path)) is not None:
        return name
    module, _, last = path.rpartition(".")
    if module in MODULES or path in MODULES or not module.startswith("crewai."):
        return None
    targets = targets_named(last)
    return ResolvedName(path, targets[0]) if len(targets) == 1 else None


def is_module(path: str) -> bool:
    """Whether a path is a module of crewai; a name exported by a package hides a submodule of the same name."""
    package, _, name = path.rpartition(".")
    return path in MODULES and own_target(package, name) is None


def import_target(name: ResolvedName) -> Any:
    """Import the crewgraph class, function or value that a name maps to."""
    return getattr(importlib.import_module(name.module), name.name)


def import_location(name: ResolvedName) -> tuple[str, str]:
    """Return the module that crewgraph programs import a name from, and the name there."""
    return _home(name.target)


@cache
def _home(target_path: str) -> tuple[str, str]:
    module, _, name = target_path.partition(":")
    if module.partition(".")[0] != "crewgraph":  # re-exports of other packages, such as `typing`
        return module, name
    value = getattr(importlib.import_module(module), name)
    for public_module, exported in _exports():
        if name in exported and getattr(public_module, name) is value:
            return public_module.__name__, name
    return module, name


@cache
def _exports() -> tuple[tuple[Any, frozenset[str]], ...]:
    return tuple((module, frozenset(module.__all__)) for module in _imported())


def _imported() -> Iterator[Any]:
    for module in _PUBLIC:
        try:
            yield importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise


def module_location(module: str) -> str | None:
    """Return the crewgraph module that a crewai module maps to as a whole, or None."""
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
    "crewai_tools.CodeInterpreterTool": "crewgraph_compat.stand_ins.code_interpreter",
    "langchain.tools.DuckDuckGoSearchRun": "langchain_community.tools",
    "langchain.tools.WikipediaQueryRun": "langchain_community.tools",
    "langchain.utilities.WikipediaAPIWrapper": "langchain_community.utilities",
}
"""Former import paths of other packages' names, each with the module that has the name today."""


def replacement_of(path: str) -> tuple[str, str] | None:
    """Return the current module and name for a path of a package other than crewai, or None if it has not moved."""
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
"""Former attribute names by class, each with its replacement."""

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
"""String methods that older programs call on outputs."""

OUTPUTS = ("CrewOutput", "TaskOutput")
"""The output classes of crews and tasks."""

FULL_OUTPUT = {"final_output": "raw", "tasks_outputs": "tasks_output"}
"""Keys of the dict that `full_output=True` used to return, each with the attribute that replaces it."""

KEYWORDS: dict[tuple[str, str], str] = {
    ("LLM", "azure"): 'write the provider before the name, `LLM(model="azure/<deployment>")`',
    ("LLM", "format"): 'write `response_format={"type": "json_object"}`',
}
"""Former keywords of models, each with its replacement."""

WITHOUT_EFFECT = frozenset({("Crew", "full_output")})
"""Former keywords, by class, that are removed."""

RENAMED: dict[tuple[str, str], str] = {
    ("ConditionalTask", "max_retries"): "guardrail_max_retries",
    ("Task", "max_retries"): "guardrail_max_retries",
}
"""Former keywords, by class, each with its current name."""

TAKING_TEXTS = {
    **dict.fromkeys(("ast.literal_eval", "html.escape", "textwrap.dedent", "textwrap.fill"), 0),
    **dict.fromkeys(("IPython.display.Markdown", "IPython.display.display_markdown", "markdown.markdown"), 0),
    **dict.fromkeys((f"re.{name}" for name in ("findall", "finditer", "fullmatch", "match", "search", "split")), 1),
    **dict.fromkeys(("re.sub", "re.subn"), 2),
}
"""Functions that require a string, each with the index of that argument."""
