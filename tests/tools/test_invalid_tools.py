"""Values in `tools=[...]` that are not tools of ours, and the advice in the error."""

from typing import Annotated, Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, BaseToolkit, InjectedToolArg, create_retriever_tool
from langchain_core.tools import tool as langchain_tool
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_openai import ChatOpenAI
from modes import Mode
from pydantic import BaseModel
from servers.responses_api import message, responses_api

from crewgraph import Agent, Crew, Task
from crewgraph.errors import CompileError, DefinitionError
from crewgraph.testing import ScriptedLLM, ToolUse
from crewgraph.tools import BaseTool as CrewTool
from crewgraph.tools import tool
from crewgraph.tools.adapt import as_tool


@tool
def shout(text: str) -> str:
    """Shout."""
    return text.upper()


@langchain_tool
def tickets(status: str, user: Annotated[str, InjectedToolArg]) -> str:
    """List tickets."""
    return f"{status} tickets of {user}"


class Shelf(BaseToolkit):
    def get_tools(self) -> list[BaseTool]:
        return []


def store() -> InMemoryVectorStore:
    documents = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    documents.add_documents([Document("Refunds take 30 days.")])
    return documents


def desk(model: ScriptedLLM, **more: Any) -> Crew:
    clerk = Agent(role="Clerk", goal="Answer", backstory="Calm.", llm=model, **more)
    return Crew(agents=[clerk], tasks=[Task(description="How long?", expected_output="A time", agent=clerk)])


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (store(), r"Pass `store.as_retriever\(\)`"),
        ({"type": "function", "function": {"name": "x"}}, "is not a tool"),
        (desk(ScriptedLLM([])), r"Pass the result of its `as_tool\(\)`\."),
        (RunnableLambda(str), r"Pass the result of its `as_tool\(\)`\."),
        (Shelf(), r"Pass the result of its `get_tools\(\)`\."),
        (tickets, r"neither models nor runs fill `user`, an `InjectedToolArg`\. Give it a default, or read the value"),
        ([shout], r"Unpack it: `tools=\[\*group\]`"),
    ],
    ids=["vector store", "function", "crew", "runnable", "toolkit", "injected", "list"],
)
def test_the_refusal_says_how_to_give_it(value: object, hint: str):
    with pytest.raises(DefinitionError, match=hint):
        as_tool(value)


def test_a_retriever_is_a_tool(mode: Mode):
    named = create_retriever_tool(store().as_retriever(), "search_docs", "Search the documents.")
    for name, search in (("search_docs", named), ("vector_store_retriever", store().as_retriever())):
        model = ScriptedLLM([ToolUse(name, {"query": "refunds"}), "Final Answer: 30 days"])
        assert mode.kickoff(desk(model, tools=[search])).raw == "30 days"
        assert "Observation: Refunds take 30 days." in model.requests[1].text


def test_tools_of_the_provider_go_to_the_model_as_they_are(mode: Mode):
    search: dict[str, Any] = {"type": "web_search"}
    key: Any = "k"
    with responses_api([message("30 days")]) as server:
        model: Any = ChatOpenAI(model="test", base_url=server.url, api_key=key)
        assert mode.kickoff(desk(model, tools=[search])).raw == "30 days"
        assert server.bodies[0]["tools"] == [search]
    with pytest.raises(CompileError, match="`web_search` of its tools run at the model's provider"):
        mode.kickoff(desk(ScriptedLLM(["x"]), tools=[search]))


def test_a_retriever_is_a_source_of_knowledge(mode: Mode):
    model = ScriptedLLM(["how long refunds take", "Final Answer: 30 days"])
    assert mode.kickoff(desk(model, knowledge_sources=[store().as_retriever()])).raw == "30 days"
    assert "Refunds take 30 days." in model.requests[1].text


def test_a_vector_store_as_a_source_of_knowledge_is_refused_with_its_retriever():
    with pytest.raises(ValueError, match=r"is not a source of knowledge: write `store.as_retriever\(\)`"):
        desk(ScriptedLLM([]), knowledge_sources=[store()])


class Question(BaseModel):
    query: str


class Search(CrewTool):
    name: str = "search"
    description: str = "Searches"
    args_schema: type[BaseModel] = Question

    def _run(self, query: str, limit: int) -> str:
        return query * limit


def test_a_schema_without_a_parameter_that_the_tool_requires_is_refused_by_the_agent():
    advice = (
        "the tool `search` requires `limit`, which its `args_schema` does not have. Add the field `limit` to `Question`"
    )
    with pytest.raises(ValueError, match=advice):
        Agent(role="r", goal="g", backstory="b", tools=[Search()])
    with pytest.raises(DefinitionError, match=advice):
        Search().to_structured_tool()
