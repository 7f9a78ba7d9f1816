"""A clerk who knows the rules of a shop: they are read from a file, found by what is asked, and stand in the prompt.

The second run finds the rules where the first has kept them: nothing is read into vectors twice. With OPENAI_API_KEY a real
model does the work; without, a scripted one.
"""

import os
from pathlib import Path
from typing import Any

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.knowledge import KnowledgeConfig, MarkdownKnowledgeSource

RULES = MarkdownKnowledgeSource(file_paths=["house_rules.md"], root=Path(__file__).parent / "knowledge")


def answer(messages: list[dict[str, Any]]) -> str:
    """A model that words a query, and answers with the passage that it was told."""
    asked = str(messages[-1]["content"])
    if "query" in asked:
        return asked.split("\n")[1].removesuffix("?")
    return next(line for line in asked.split("\n") if line.endswith("days. Candles are not taken back."))


llm: Any = "openai/gpt-4o-mini" if os.environ.get("OPENAI_API_KEY") else ScriptedLLM(answer)

clerk = Agent(
    role="Clerk",
    goal="Answer customers by the rules of the shop",
    backstory="You never promise what the rules do not say.",
    llm=llm,
    knowledge_sources=[RULES],
    knowledge_config=KnowledgeConfig(results_limit=1),
)
reply = Task(description="{question}", expected_output="One or two sentences", agent=clerk)
crew = Crew(agents=[clerk], tasks=[reply])

if __name__ == "__main__":
    result = crew.kickoff({"question": "Can a lamp be sent back?"})
    print("searched:", clerk.knowledge_search_query)
    print("known:   ", (clerk.agent_knowledge_context or "").splitlines()[0])
    print("answer:  ", result.raw)
