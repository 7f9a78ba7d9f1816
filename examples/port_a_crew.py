"""A CrewAI program on crewgraph: of the program itself, only the two import lines change.

Written for CrewAI it begins with

    from crewai import Agent, Crew, Process, Task
    from crewai.tools import tool

With OPENAI_API_KEY a real model does the work (OPENAI_BASE_URL says where); without, a scripted one.
"""

import os
from collections.abc import Sequence
from typing import Any

from crewgraph import Agent, BaseLLM, Crew, Process, ScriptedLLM, Task, ToolUse
from crewgraph.tools import tool


@tool("Price list")
def price(product: str) -> str:
    """Look up the price of a product in euros."""
    return {"lamp": "40", "desk": "260"}.get(product.lower(), "unknown")


def crew_for(llm: str | BaseLLM) -> Crew:
    """The crew, as a CrewAI program makes it."""
    clerk = Agent(
        role="Clerk",
        goal="Know what {product} costs",
        backstory="You never guess a price.",
        tools=[price],
        llm=llm,
        allow_delegation=False,
    )
    writer = Agent(role="Writer", goal="Write offers", backstory="You write one sentence, never two.", llm=llm)
    lookup = Task(description="Look up the price of a {product}.", expected_output="The price", agent=clerk)
    offer = Task(
        description="Offer a {product} to {customer}.",
        expected_output="One sentence with the price",
        agent=writer,
        context=[lookup],
    )
    return Crew(agents=[clerk, writer], tasks=[lookup, offer], process=Process.sequential)


def scripted(messages: Sequence[dict[str, Any]]) -> str | ToolUse:
    """Stands in for a model where there is no key."""
    said = "\n".join(str(message["content"]) for message in messages)
    if "Offer a" in said:
        return "Final Answer: Dear Ada, the lamp is yours for 40 euros."
    return "Final Answer: 40 euros" if "Observation: 40" in said else ToolUse("Price_list", {"product": "lamp"})


def main() -> None:
    """Kick it off."""
    llm = "openai/gpt-4o-mini" if os.environ.get("OPENAI_API_KEY") else ScriptedLLM(scripted)
    result = crew_for(llm).kickoff(inputs={"product": "lamp", "customer": "Ada"})
    for output in result.tasks_output:
        print(f"{output.agent}: {output.raw}")
    print(f"{result.token_usage.successful_requests} requests")


if __name__ == "__main__":
    main()
