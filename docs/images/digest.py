"""The crew of the README."""

from crewgraph import Agent, Crew, Task
from crewgraph.tools import tool

__all__ = ["digest"]


@tool
def search_tickets(query: str) -> str:
    """Search this week's support tickets."""
    return "SSO login loop: 42 tickets. CSV export times out: 17 tickets."


def digest(*, verbose: bool = False) -> Crew:
    """Return the crew."""
    model = "openai/gpt-4o-mini"
    analyst = Agent(
        role="Support analyst",
        goal="Find out what customers struggle with",
        backstory="You have read ten thousand tickets.",
        tools=[search_tickets],
        llm=model,
    )
    editor = Agent(
        role="Editor",
        goal="Write updates that busy people read",
        backstory="You used to write headlines.",
        llm=model,
    )
    findings = Task(
        name="findings",
        description="Find the main complaints about {product}.",
        expected_output="A ranked list",
        agent=analyst,
    )
    update = Task(
        name="update",
        description="Summarize the findings in one sentence.",
        expected_output="One sentence",
        agent=editor,
    )
    return Crew(name="support digest", agents=[analyst, editor], tasks=[findings, update], verbose=verbose)


if __name__ == "__main__":
    digest(verbose=True).kickoff({"product": "Acme Desk"}, thread_id="digest-1")
