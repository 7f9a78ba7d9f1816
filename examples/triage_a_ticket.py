"""A flow answers a customer's ticket: research beside each other, a crew that writes, a review, and a person who approves.

The order and the rules are looked up at once. A crew writes a letter; it is written again until the review has nothing to say
against it. Then somebody is asked whether it may be sent: on a terminal at once, else the run is kept until it is answered,
which may be days later and in another process. With OPENAI_API_KEY a real model does the work; without, a scripted one.
langgraph.json names the flow and its crew for LangGraph's server: `langgraph dev` in this folder.
"""

import asyncio
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel

from crewgraph import Agent, BaseLLM, Crew, ScriptedLLM, Task
from crewgraph.flow import Flow, HumanFeedbackResult, PendingFlow, and_, human_feedback, listen, or_, router, start
from crewgraph.storage.checkpoints import SqliteCheckpointer

__all__ = ["Triage", "letters", "triage"]


class Ticket(BaseModel):
    """What the flow knows: its fields are kept after every method."""

    customer: str = ""
    question: str = ""
    order: str = ""
    rule: str = ""
    letter: str = ""
    objection: str = ""
    drafts: int = 0


class Triage(Flow[Ticket]):
    """From a ticket to a letter.

    Args:
        llm: the model of the crew.
        flow: as for every flow; `checkpointer=` says where its runs are kept.
    """

    name = "triage"
    most_drafts: ClassVar[int] = 3

    def __init__(self, llm: str | BaseLLM, **flow: Any) -> None:
        super().__init__(**flow)
        self.llm = llm

    @start()
    async def look_up_order(self) -> None:
        """What was bought."""
        await asyncio.sleep(0.01)  # a database
        self.state.order = {"Ada": "a lamp, 12 days ago", "Bob": "a desk, 50 days ago"}.get(
            self.state.customer, "nothing"
        )

    @start()
    def look_up_rule(self) -> None:
        """What holds for the question."""
        self.state.rule = "30 days to return" if "return" in self.state.question else "2 years of warranty"

    @listen(or_(and_(look_up_order, look_up_rule), "again"))
    def write(self) -> None:
        """A letter, by the crew."""
        self.state.drafts += 1
        known = {name: str(value) for name, value in self.state}
        self.state.letter = letter_crew(self.llm).kickoff(known).raw

    @router(write)
    def review(self) -> str:
        """A letter has to name the rule."""
        number = self.state.rule.split()[0]
        self.state.objection = "" if number in self.state.letter else f"it does not name the rule: {self.state.rule}"
        return "again" if self.state.objection and self.state.drafts < self.most_drafts else "reviewed"

    @listen("reviewed")
    @human_feedback("May it be sent?", emit=["send", "hold"], default_outcome="hold")
    def approve(self) -> str:
        """What somebody looks at."""
        return self.state.letter

    @listen("send")
    def post(self) -> str:
        """To the customer."""
        return f"sent to {self.state.customer}: {self.state.letter}"

    @listen("hold")
    def put_aside(self, said: HumanFeedbackResult) -> str:
        """Somebody else sees to it."""
        return f"held back: {said.feedback}"


def letter_crew(llm: str | BaseLLM) -> Crew:
    """Decides, then writes; killed in the second task, it is not asked again for the first."""
    clerk = Agent(role="Clerk", goal="Decide by the rules", backstory="You never guess.", llm=llm)
    writer = Agent(role="Writer", goal="Answer kindly", backstory="You write two sentences, never three.", llm=llm)
    decision = Task(
        name="decision",
        description="{customer} bought {order} and asks: {question} The rule is: {rule}. Decide.",
        expected_output="Yes or no, and why",
        agent=clerk,
    )
    letter = Task(
        name="letter",
        description="Write the letter to {customer}. What was said against the last draft: {objection}",
        expected_output="A letter that names the rule",
        agent=writer,
    )
    return Crew(name="letters", agents=[clerk, writer], tasks=[decision, letter])


def scripted(messages: Sequence[dict[str, Any]]) -> str:
    """Stands in for a model where there is no key: its first letter is refused."""
    said = "\n".join(str(message["content"]) for message in messages)
    if "Decide." in said:
        return "Final Answer: Yes, 12 days are fewer than 30."
    if "does not name the rule" in said:
        return "Final Answer: Dear Ada, you have 30 days and may send the lamp back."
    return "Final Answer: Dear Ada, of course."


def model() -> str | BaseLLM:
    """A real model where there is a key."""
    return "openai/gpt-4o-mini" if os.environ.get("OPENAI_API_KEY") else ScriptedLLM(scripted)


def triage() -> Any:
    """The flow as a graph, for a server; which keeps its runs."""
    return Triage(model()).compile()


def letters() -> Any:
    """The crew as a graph, for a server."""
    return letter_crew(model()).compile()


def main() -> None:
    """Run until somebody is asked; then answer, as another process would."""
    with tempfile.TemporaryDirectory() as folder, SqliteCheckpointer(Path(folder) / "tickets.db") as kept:
        flow = Triage(model(), checkpointer=kept)
        result = flow.kickoff(inputs={"customer": "Ada", "question": "Can I return my lamp?"})
        if isinstance(result, PendingFlow):
            print(f"asked:   {result.questions[0].message} {result.questions[0].output}")
            later = Triage(ScriptedLLM([]), checkpointer=kept)
            result = later.resume(result.flow_id, "send")
        print(result)
        done = [method for step in flow.history() for method in step.methods]
        print(f"history: {' '.join(method for method in done if not method.startswith('look_up'))}")


if __name__ == "__main__":
    main()
