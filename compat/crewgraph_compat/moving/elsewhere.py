"""Names that older programs import from packages of others which no longer have them: LangChain's, and crewai_tools."""

__all__ = ["elsewhere"]

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


def elsewhere(path: str) -> tuple[str, str] | None:
    """Where a name of another package than crewai is imported from today; None where it is where it was."""
    module = _PLACES.get(path)
    return None if module is None else (module, path.rpartition(".")[2])
