"""A crew as a node of a LangGraph application: a person approves what it wrote before it is sent.

The application has the checkpointer; the crew inherits it. The question stops the whole graph, and its answer may come
from another process: here a second graph object, made anew, gives it. The models are scripted, so no key is needed.
"""

import tempfile
from pathlib import Path
from typing import Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.storage.checkpoints import SqliteCheckpointer


class Mail(TypedDict, total=False):
    """The application's state; `inputs` and `reply` are also channels of the crew's graph."""

    customer: str
    question: str
    inputs: dict[str, Any]
    reply: dict[str, Any]
    sent: str


def support(llm: ScriptedLLM) -> Crew:
    """The team that answers."""
    clerk = Agent(role="Clerk", goal="Know the rules", backstory="You know every contract.", llm=llm)
    writer = Agent(role="Writer", goal="Answer kindly", backstory="You write short letters.", llm=llm)
    rules = Task(name="rules", description="What holds for: {question}", expected_output="The rule", agent=clerk)
    reply = Task(name="reply", description="Answer: {question}", expected_output="A letter", agent=writer)
    return Crew(name="support", agents=[clerk, writer], tasks=[rules, reply])


def received(state: Mail) -> Mail:
    """Hand the question to the crew."""
    return {"inputs": {"question": state.get("question", "")}}


def approved(state: Mail) -> Mail:
    """Ask a person; what they answer is what is sent."""
    draft = state.get("reply", {})["raw"]
    answer = interrupt({"draft": draft})
    return {"sent": draft if answer == "ok" else answer}


def application(llm: ScriptedLLM, checkpointer: BaseCheckpointSaver[Any]) -> Any:
    """The graph: received, the crew, approved."""
    graph = StateGraph(Mail)
    graph.add_node("received", received)
    graph.add_node("support", support(llm).compile())
    graph.add_node("approved", approved)
    graph.add_edge(START, "received")
    graph.add_edge("received", "support")
    graph.add_edge("support", "approved")
    graph.add_edge("approved", END)
    return graph.compile(checkpointer=checkpointer)


def main() -> None:
    """Run until the question, then answer it."""
    config: RunnableConfig = {"configurable": {"thread_id": "mail-7"}}
    llm = ScriptedLLM(["30 days", "You may send it back within 30 days."])
    with tempfile.TemporaryDirectory() as folder, SqliteCheckpointer(Path(folder) / "mail.db") as checkpointer:
        stopped = application(llm, checkpointer).invoke(
            {"customer": "Ada", "question": "Can I return a lamp?"}, config, durability="sync"
        )
        question = stopped["__interrupt__"][0]
        print(f"asked:   {question.value['draft']}")

        later = application(ScriptedLLM([]), checkpointer)
        done = later.invoke(Command(resume={question.id: "ok"}), config, durability="sync")
        print(f"sent:    {done['sent']}")
        print(f"history: {len(list(later.get_state_history(config)))} checkpoints")


if __name__ == "__main__":
    main()
