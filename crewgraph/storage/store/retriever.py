"""Memory and knowledge as LangChain retrievers and tools."""

from collections.abc import Awaitable, Callable, Sequence

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, create_retriever_tool


class Retriever(BaseRetriever):
    """A LangChain retriever over a search, sync and async."""

    search: Callable[[str], Sequence[Document]]
    """The documents that match a text, best first."""

    asearch: Callable[[str], Awaitable[Sequence[Document]]]
    """The async form of `search`."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return list(self.search(query))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return list(await self.asearch(query))


def retriever_tool(retriever: BaseRetriever, name: str, description: str) -> BaseTool:
    """A LangChain tool that searches with a `query` and returns the texts of the matches, joined."""
    tool: object = create_retriever_tool(retriever, name, description)
    return tool
