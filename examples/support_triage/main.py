"""A flow answers support tickets, and asks a person before a letter goes out.

    python main.py open T-1042            work on a ticket until a person is asked
    python main.py list                   tickets, and what they wait for
    python main.py answer T-1042 send     or: hold, or what is to be changed in the letter
    python main.py resume                 continue after a crash

Each command is a process of its own; tickets.db has the runs. With MODEL or OPENAI_API_KEY set, that model does the work;
otherwise a scripted stand-in does. langgraph.json names the flow and its crew for LangGraph's server: `langgraph dev` here.
"""

import json
import os
import sys
from datetime import date
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel
from stand_in import reply

from crewgraph import LLM, Agent, BaseLLM, Crew, ScriptedLLM, Task
from crewgraph.flow import Flow, HumanFeedbackResult, PendingFlow, and_, human_feedback, listen, or_, router, start
from crewgraph.storage.checkpoints import SqliteCheckpointer

__all__ = ["Triage", "letters", "triage"]

HERE = Path(__file__).parent
POLICY = (HERE / "policy.md").read_text("utf-8")


class Kind(BaseModel):
    """How a ticket is sorted."""

    kind: Literal["return", "fault", "injury", "other"]
    urgent: bool
    summary: str


class Ticket(BaseModel):
    """The state of a run: its fields are stored after every method."""

    number: str = ""
    customer: str = ""
    text: str = ""
    received: str = ""
    order: str = ""
    bought: str = ""
    kind: Kind | None = None
    letter: str = ""
    objection: str = "nothing yet"
    drafts: int = 0


class Triage(Flow[Ticket]):
    """From a ticket to a letter that a person has approved, or to a colleague.

    Args:
        llm: The model of the agents.
        flow: As for every flow; `checkpointer=` says where its runs are stored.
    """

    name = "triage"
    most_drafts: ClassVar[int] = 3

    def __init__(self, llm: str | BaseLLM, **flow: Any) -> None:
        super().__init__(**flow)
        self.llm = llm

    @start()
    def sort(self) -> None:
        """Say what the ticket is about; an agent on its own, without a crew."""
        sorter = Agent(
            role="Support lead",
            goal="Sort tickets",
            backstory="You read to the end before you sort, and notice when somebody was hurt.",
            llm=self.llm,
        )
        ticket = f"Sort the ticket of {self.state.customer} about order {self.state.order}:\n\n{self.state.text}"
        self.state.kind = Kind.model_validate(sorter.kickoff(ticket, response_format=Kind).pydantic)

    @start()
    def look_up_order(self) -> None:
        """Read what was bought; runs beside `sort`."""
        found = json.loads((HERE / "orders.json").read_text("utf-8"))[self.state.order]
        days = (date.fromisoformat(self.state.received) - date.fromisoformat(found["delivered"])).days
        self.state.bought = f"{found['item']}, {found['price']}, delivered {days} days before the ticket"

    @router(and_(sort, look_up_order))
    def route(self) -> str:
        """Letters are not for everything."""
        return "escalate" if self.state.kind is None or self.state.kind.kind in ("injury", "other") else "reply"

    @listen(or_("reply", "again", "change"))
    def write(self, said: str | HumanFeedbackResult) -> None:
        """Have the crew decide and write; killed in its second task, it does not decide again."""
        if isinstance(said, HumanFeedbackResult):
            self.state.objection = said.feedback
        self.state.drafts += 1
        known = {name: str(value) for name, value in self.state}
        self.state.letter = letter_crew(self.llm).kickoff({**known, "policy": POLICY}).raw

    @router(write)
    def review(self) -> str:
        """Check what can be checked without a person."""
        if self.state.order in self.state.letter or self.state.drafts >= self.most_drafts:
            return "reviewed"
        self.state.objection = f"it does not name the order {self.state.order}"
        return "again"

    @listen("reviewed")
    @human_feedback("May this letter go out?", emit=["send", "hold", "change"], default_outcome="change")
    def approve(self) -> str:
        """Show the letter to a person; what is neither `send` nor `hold` says what to change."""
        return self.state.letter

    @listen("send")
    def post(self) -> str:
        """Hand the letter to the mail system, here a folder."""
        outbox = HERE / "outbox"
        outbox.mkdir(exist_ok=True)
        (outbox / f"{self.state.number}.txt").write_text(self.state.letter + "\n", "utf-8")
        return f"sent to {self.state.customer} after {self.state.drafts} drafts: outbox/{self.state.number}.txt"

    @listen("hold")
    def put_aside(self, said: HumanFeedbackResult) -> str:
        """Leave it to a colleague."""
        return f"held back ({said.feedback}) after {self.state.drafts} drafts"

    @listen("escalate")
    def hand_over(self) -> str:
        """Leave it to somebody else."""
        kind = self.state.kind
        return f"for the safety officer: {kind.summary}" if kind and kind.kind == "injury" else "for the support lead"


def letter_crew(llm: str | BaseLLM) -> Crew:
    """One agent decides by the policy, another one writes."""
    clerk = Agent(
        role="Returns clerk",
        goal="Decide what the policy allows",
        backstory="You quote the rule that you go by, and never promise more.",
        llm=llm,
    )
    writer = Agent(
        role="Correspondent",
        goal="Write letters that settle a matter",
        backstory="You write plainly, and say what happens next.",
        llm=llm,
    )
    decision = Task(
        name="decision",
        description="Decide what we offer {customer}, who bought: {bought} (order {order}), and writes: {text}\n\n{policy}",
        expected_output="Two sentences: what we offer, and by which rule",
        agent=clerk,
    )
    letter = Task(
        name="letter",
        description="Write the letter to {customer} about order {order}. Objection to the last draft: {objection}",
        expected_output="A letter of at most 100 words that names the order",
        agent=writer,
    )
    return Crew(name="letters", agents=[clerk, writer], tasks=[decision, letter])


def model() -> BaseLLM:
    """A real model if one is configured."""
    if os.environ.get("MODEL") or os.environ.get("OPENAI_API_KEY"):
        return LLM(os.environ.get("MODEL") or "openai/gpt-4o-mini")
    return ScriptedLLM(reply)


def triage() -> Any:
    """The flow as a graph, for LangGraph's server, which stores its runs."""
    return Triage(model()).compile()


def letters() -> Any:
    """The crew as a graph, for LangGraph's server."""
    return letter_crew(model()).compile()


def show(number: str, result: Any) -> None:
    """Print what came of a run, or what it waits for."""
    if isinstance(result, PendingFlow):
        question = result.questions[0]
        print(f"{number}: {question.message} (send / hold / what to change)\n\n{question.output}\n")
    else:
        print(f"{number}: {result}")


def main(command: str, *arguments: str) -> None:
    """Carry out a command."""
    with SqliteCheckpointer(HERE / "tickets.db") as database:
        flow = Triage(model(), checkpointer=database)
        match command, *arguments:
            case "open", number:
                ticket = json.loads((HERE / "tickets.json").read_text("utf-8"))[number]
                show(number, flow.run_or_resume(number, {"number": number, **ticket}))
            case ("list",):
                for run in flow.runs():
                    print(f"{run.thread_id}: {run.status}, last step: {run.last}")
            case "answer", number, answer:
                show(number, flow.resume(number, answer))
            case ("resume",):
                for run in flow.runs(status="open"):
                    show(run.thread_id, flow.resume(run.thread_id))
            case _:
                sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:] or ["help"])
