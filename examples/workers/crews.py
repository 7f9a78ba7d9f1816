"""The crew that the workers run: `crewgraph worker --target crews:renewals`."""

import os

from stand_in import reply

from crewgraph import LLM, Agent, BaseLLM, Crew, ScriptedLLM, Task
from crewgraph.tools import tool

__all__ = ["renewals"]


@tool(require_approval=True, once=True)
def give_notice(contract: str, reason: str) -> str:
    """Give notice of a contract; a person is asked first.

    Args:
        contract: Its id.
        reason: One sentence for the supplier.
    """
    return f"notice given for {contract}"  # here goes the letter


def renewals() -> Crew:
    """Judge a contract before it renews itself; called for each run."""
    llm = model()
    controller = Agent(
        role="Contract controller",
        goal="Know what each contract costs and what it is used for",
        backstory="You read tables, not brochures.",
        llm=llm,
    )
    buyer = Agent(
        role="Buyer",
        goal="Keep what is used, and pay what it is worth",
        backstory="You give notice in time, or not at all.",
        tools=[give_notice],
        llm=llm,
    )
    summary = Task(
        name="summary",
        description="Sum up contract {id} with {supplier}: {yearly_cost} a year, renews on {renews_on}, notice by {notice_by}."
        " {use}",
        expected_output="Two sentences: cost and dates, and how it is used",
        agent=controller,
    )
    decision = Task(
        name="decision",
        description="Decide about contract {id}: renew, renegotiate, or give notice with your tool.",
        expected_output="The decision and its reason, in one sentence",
        agent=buyer,
    )
    return Crew(name="renewals", agents=[controller, buyer], tasks=[summary, decision])


def model() -> BaseLLM:
    """A real model if one is configured."""
    if os.environ.get("MODEL") or os.environ.get("OPENAI_API_KEY"):
        return LLM(os.environ.get("MODEL") or "openai/gpt-4o-mini")
    return ScriptedLLM(reply, native_tools=True)
