"""Two crews under a LangGraph supervisor: one is a tool, the other one a node; a person approves what is sent.

The supervisor is a chat model in a graph of yours. It calls the crew `purchasing` as a tool, and hands over to the crew
`correspondence`, a node of the graph that reads and writes its messages. Then the graph stops, and goes on with a person's
answer, which may come from another process: here a second graph object, made anew, gives it. With OPENAI_API_KEY a real model
does the work; otherwise a scripted stand-in does.
"""

import os
import tempfile
from pathlib import Path
from typing import Annotated, Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolCallId
from langchain_core.tools import tool as langchain_tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt
from stand_in import ScriptedChat, reply

from crewgraph import LLM, Agent, BaseLLM, Crew, ScriptedLLM, Task
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool

REQUEST = (
    "Our forwarder Seabridge (Mr Okafor) wrote on 3 July 2026: they raise their rates by 12 % from 1 August. Find out whether "
    "they may, and answer them."
)
INSTRUCTIONS = (
    "You lead the supply desk of Halden Grocers. Have a supplier's request assessed before anybody answers it. When you know our "
    "position, hand over to correspondence with a brief that holds all facts the letter needs."
)


class Desk(MessagesState, total=False):
    """The application's state."""

    sent: str


@tool
def read_contract(supplier: str) -> str:
    """Read the contract with a supplier."""
    return (
        f"{supplier}, term until 31 December 2026. 7.2: one price change a year, at most by the rise of the freight index \
over twelve months, announced 60 days ahead."
    )


@tool
def freight_index(since: str) -> str:
    """Look up how the freight index has changed since a month, such as 2025-06."""
    return f"{since} to 2026-06: +4.1 %"


def purchasing(llm: BaseLLM) -> Crew:
    """The crew that is a tool: its placeholders are the tool's arguments."""
    lawyer = Agent(
        role="Contract analyst",
        goal="Say what the contract allows",
        backstory="You quote clauses by their number.",
        tools=[read_contract],
        llm=llm,
    )
    buyer = Agent(
        role="Freight buyer",
        goal="Find a position that both sides can keep",
        backstory="You check a claim against the market.",
        tools=[freight_index],
        llm=llm,
    )
    terms = Task(
        name="terms",
        description="Find what the contract with {supplier} says about: {request}",
        expected_output="The clauses that matter, in two sentences",
        agent=lawyer,
    )
    verdict = Task(
        name="verdict",
        description="Judge the request of {supplier}: {request}",
        expected_output="What they may ask for, from when, and what we should offer",
        agent=buyer,
    )
    return Crew(name="purchasing", agents=[lawyer, buyer], tasks=[terms, verdict])


def correspondence(llm: BaseLLM) -> Crew:
    """The crew that is a node: its one placeholder is the last message of a person."""
    writer = Agent(
        role="Correspondent", goal="Write letters that settle a matter", backstory="You write plainly.", llm=llm
    )
    letter = Task(
        name="letter", description="Write the letter. {brief}", expected_output="At most 100 words", agent=writer
    )
    return Crew(name="correspondence", agents=[writer], tasks=[letter])


@langchain_tool
def hand_over_to_correspondence(brief: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Have the letter written, with a brief that holds our position and all facts."""
    done = ToolMessage("handed over", tool_call_id=tool_call_id)
    return Command(goto="correspondence", update={"messages": [done, HumanMessage(brief, name="supervisor")]})


def application(model: BaseChatModel, llm: BaseLLM, checkpointer: BaseCheckpointSaver[Any]) -> Any:
    """The graph; its checkpointer stores the steps of both crews, too."""
    assess = purchasing(llm).as_tool("assess_request", "Assess a supplier's request against contract and market.")
    tools = [assess, hand_over_to_correspondence]
    thinking = model.bind_tools(tools)

    def supervisor(state: Desk) -> dict[str, Any]:
        return {"messages": [thinking.invoke([SystemMessage(INSTRUCTIONS), *state["messages"]])]}

    def next_step(state: Desk) -> Literal["tools", "__end__"]:
        last = state["messages"][-1]
        return "tools" if isinstance(last, AIMessage) and last.tool_calls else "__end__"

    def after_tools(state: Desk) -> Literal["supervisor", "__end__"]:
        return "supervisor" if isinstance(state["messages"][-1], ToolMessage) else "__end__"

    def approve(state: Desk) -> Desk:
        draft = str(state["messages"][-1].content)
        answer = interrupt({"draft": draft})
        return {"sent": draft if answer == "ok" else answer}  # type: ignore[typeddict-item]

    graph = StateGraph(Desk)
    graph.add_node("supervisor", supervisor)
    graph.add_node("tools", ToolNode(tools))
    graph.add_node(correspondence(llm).compile(messages=True))
    graph.add_node("approve", approve)
    graph.add_edge(START, "supervisor")
    graph.add_conditional_edges("supervisor", next_step)
    graph.add_conditional_edges("tools", after_tools)
    graph.add_edge("correspondence", "approve")
    graph.add_edge("approve", END)
    return graph.compile(checkpointer=checkpointer)


def models() -> tuple[BaseChatModel, BaseLLM]:
    """The supervisor's model and that of the crews."""
    if os.environ.get("OPENAI_API_KEY"):
        name = (os.environ.get("MODEL") or "gpt-4o-mini").removeprefix("openai/")
        return ChatOpenAI(model=name), LLM(f"openai/{name}")
    return ScriptedChat(), ScriptedLLM(reply, native_tools=True)


def main() -> None:
    """Run until the question, then answer it as another process would."""
    config: RunnableConfig = {"configurable": {"thread_id": "seabridge-2026-07"}}
    with tempfile.TemporaryDirectory() as folder, SqliteCheckpointer(Path(folder) / "desk.db") as checkpointer:
        graph = application(*models(), checkpointer)
        stopped = graph.invoke({"messages": [HumanMessage(REQUEST)]}, config, durability="sync")
        for message in stopped["messages"]:
            calls = ", ".join(call["name"] for call in getattr(message, "tool_calls", []))
            print(f"{message.name or message.type}: {calls or str(message.content).splitlines()[0]}")
        question = stopped["__interrupt__"][0]
        print(f"\nMay this be sent?\n\n{question.value['draft']}\n")

        later = application(*models(), checkpointer)
        done = later.invoke(Command(resume={question.id: "ok"}), config, durability="sync")
        print(f"sent: {done['sent'] == question.value['draft']}")


if __name__ == "__main__":
    main()
