"""A manager hands work to two agents, one of whom needs a person's leave to send a mail.

With MODEL or OPENAI_API_KEY set, that model does the work; otherwise a scripted stand-in does.
"""

import os

from stand_in import reply

from crewgraph import LLM, Agent, BaseLLM, Crew, PendingCrew, Process, ScriptedLLM, Task
from crewgraph.tools import tool

outbox: list[str] = []


@tool
def usage_and_invoices(customer: str) -> str:
    """Look up how many seats a customer uses, and which invoices are open."""
    return f"{customer}: 41 of 50 seats in May; open: 590.00 euros since 12 April, 590.00 euros since 12 May"


@tool(require_approval=True)
def send_mail(to: str, text: str) -> str:
    """Send a mail to a customer."""
    outbox.append(text)
    return f"sent to {to}"


def crew_for(llm: BaseLLM) -> Crew:
    """Two agents, and a manager made of a model, who decides who does what."""
    analyst = Agent(
        role="Billing analyst",
        goal="Know what customers use and owe",
        backstory="You look numbers up, and add them twice.",
        tools=[usage_and_invoices],
        llm=llm,
    )
    account_manager = Agent(
        role="Account manager",
        goal="Keep customers",
        backstory="You know each customer by name, and write short mails.",
        tools=[send_mail],
        llm=llm,
    )
    renewal = Task(
        name="renewal",
        description="Prepare the renewal of {customer}: find out what they use and owe, then have a mail sent to them.",
        expected_output="What was done, in one sentence",
    )
    return Crew(
        name="renewals",
        agents=[analyst, account_manager],
        tasks=[renewal],
        process=Process.hierarchical,
        manager_llm=llm,
    )


def model() -> BaseLLM:
    """A real model if one is configured."""
    if os.environ.get("MODEL") or os.environ.get("OPENAI_API_KEY"):
        return LLM(os.environ.get("MODEL") or "openai/gpt-4o-mini")
    return ScriptedLLM(reply, native_tools=True)


def main() -> None:
    """Run the crew; where nobody sits at a terminal, allow the mail as another process would."""
    crew = crew_for(model())
    result = crew.kickoff({"customer": "Kaya Design"})
    while isinstance(result, PendingCrew):  # the run waits, for days if need be
        print(f"waits:  {result.questions[0].summary()}")
        assert result.thread_id is not None
        result = crew.resume(result.thread_id, "yes")
    print(f"result: {result.raw}")
    print(f"sent:   {len(outbox)} mail")
    for role, usage in result.usage_by_agent.items():
        print(f"        {role}: {usage.successful_requests} requests")


if __name__ == "__main__":
    main()
