"""The crews, flows and stores whose databases are kept in `data`, written against the public API alone.

Every model request, tool call and method leaves a line in the file `ledger` of the working directory, so that a test sees what
ran again. Where `KILLED_AT` names such a line, the process kills itself there.
"""

import json
import os
import signal
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from crewgraph import Agent, BaseLLM, CheckpointConfig, Crew, Knowledge, Memory, ScriptedLLM, Task, TaskOutput, ToolUse
from crewgraph.flow import Flow, SQLiteFlowPersistence, human_feedback, listen, persist, start
from crewgraph.tools import tool

__all__ = [
    "BASELINE",
    "PROJECT",
    "Basket",
    "Counter",
    "Draft",
    "Inquiry",
    "Journey",
    "Leg",
    "Model",
    "ScoringModel",
    "Voyage",
    "Walk",
    "agent",
    "careful",
    "clerk",
    "delegating",
    "desk",
    "feedback",
    "hours",
    "mailing",
    "noted",
    "office",
    "planned_by_the_agent",
    "planned_by_the_crew",
    "recollections",
    "remembering",
    "snapshot_config",
]

PROJECT = "/srv/golden"
"""The working directory that stores see: what a project keeps lies below a label made of it."""

BASELINE = "baseline.json"


def noted(line: str) -> None:
    with Path("ledger").open("a", encoding="utf-8") as ledger:
        ledger.write(f"{line}\n")
    if os.environ.get("KILLED_AT") == line:
        os.kill(os.getpid(), signal.SIGKILL)


def answer(messages: Any) -> str:
    """An answer by words in what is asked."""
    first, last = messages[0]["content"], messages[-1]["content"]
    everything = str(messages)
    if "a mark from 0 to 10" in first:
        noted("model judges")
        ines: dict[str, Any] = {"name": "Ines", "type": "person", "description": "harbour master", "relationships": []}
        return json.dumps({"suggestions": ["Name the day."], "quality": 8, "entities": [ines]})
    if last.startswith("The worker:"):
        noted("model draws lessons")
        return json.dumps({"suggestions": ["Give minutes, too."], "quality": 8, "final_summary": "Two units."})
    task = next((word for word in ("FIRST", "SECOND", "PAY", "MAIL") if word in everything), "other")
    observed = next((word for word in ("it is deep", "transferred", "minutes") if word in everything), "")
    noted(f"model {task}{' ' + observed if observed else ''}")
    if task == "SECOND" and not observed:
        return 'Thought: a look\nAction: look\nAction Input: {"what": "sea"}'
    if task == "PAY" and not observed:
        return 'Thought: pay\nAction: transfer\nAction Input: {"to": "Anna", "euros": 900}'
    if task == "MAIL":
        return 'Thought: send\nAction: send_mail\nAction Input: {"to": "ada@example.org"}'
    if task == "other":
        return "Final Answer: Six hours, 360 minutes." if observed else "Final Answer: Six hours."
    return {"FIRST": "Final Answer: high", "SECOND": "Final Answer: low", "PAY": "Final Answer: paid"}[task]


class Model(BaseLLM):
    """Answers in the same way, and can be made again by its name."""

    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        return answer(messages)


class ScoringModel(BaseLLM):
    """Gives every work the same mark."""

    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        return '{"score": 8, "feedback": "Right."}'


@tool
def look(what: str) -> str:
    """Look at something."""
    noted(f"tool look {what}")
    return "it is deep"


@tool(require_approval=True)
def transfer(to: str, euros: int) -> str:
    """Transfer money."""
    noted(f"tool transfer {to} {euros}")
    return "transferred"


@tool("send_mail", once=True)
def send_mail(to: str) -> str:
    """Send the report by mail."""
    noted(f"tool send_mail {to}")
    return "sent"


def clerk(*tools: Any, **fields: Any) -> Agent:
    """An agent whose model counts words as tokens, and has a price; its snapshots hold a model that can be made again."""
    is_snapshot = fields.get("checkpoint") is not None
    llm = Model(model="golden") if is_snapshot else ScriptedLLM(answer, model="gpt-4o-mini")
    return Agent(role="Clerk", goal="Know", backstory="Exact.", llm=llm, tools=list(tools), **fields)


def desk(**options: Any) -> Crew:
    """Two tasks, of which the second looks before it answers."""
    worker = clerk(look)
    if options.get("checkpoint") is not None:
        worker.llm = Model(model="golden")
    first = Task(name="first", description="FIRST {what}", expected_output="A word", agent=worker)
    second = Task(name="second", description="SECOND", expected_output="A word", agent=worker, context=[])
    return Crew(name="desk", agents=[worker], tasks=[first, second], **options)


def office() -> Crew:
    """A task that asks for the approval of a tool, and then for feedback."""
    worker = clerk(transfer)
    pay = Task(name="pay", description="PAY Anna", expected_output="A word", agent=worker, human_input=True)
    return Crew(name="office", agents=[worker], tasks=[pay])


def mailing() -> Crew:
    """A tool that must not be called twice."""
    worker = clerk(send_mail)
    return Crew(
        name="mailing",
        agents=[worker],
        tasks=[Task(name="mail", description="MAIL the report", expected_output="A word", agent=worker)],
    )


@tool("Look It Up")
def look_it_up(what: str) -> str:
    """Look a thing up."""
    noted(f"tool Look It Up {what}")
    return "it is deep"


@tool("Transfer Money", require_approval=True)
def transfer_money(to: str, euros: int) -> str:
    """Transfer money."""
    noted(f"tool Transfer Money {to} {euros}")
    return "transferred"


@tool("Mail-Report", once=True)
def mail_report(to: str) -> str:
    """Send the report by mail."""
    noted(f"tool Mail-Report {to}")
    return "sent"


def bank(*, native: bool) -> Crew:
    """A task for each of three tools with titles: one that may be called again, one that asks first, one to call once."""
    uses = {
        "SEARCH": ToolUse("Look It Up", {"what": "sea"}),
        "PAY": ToolUse("Transfer Money", {"to": "Anna", "euros": 900}),
        "MAIL": ToolUse("Mail-Report", {"to": "ada@example.org"}),
    }

    def act(messages: Any) -> Any:
        everything = str(messages)
        work = next(word for word in uses if f"{word} now" in everything)
        is_done = any(word in everything for word in ("it is deep", "transferred", "'sent'", ": sent"))
        noted(f"model {work}{' done' if is_done else ''}")
        return "Final Answer: done" if is_done else uses[work]

    model = ScriptedLLM(act, model="gpt-4o-mini", native_tools=native)
    tools = [look_it_up, transfer_money, mail_report]
    worker = Agent(role="Clerk", goal="Know", backstory="Exact.", llm=model, tools=tools)
    tasks = [
        Task(name=work.lower(), description=f"{work} now", expected_output="A word", agent=worker, context=[])
        for work in uses
    ]
    return Crew(name="bank", agents=[worker], tasks=tasks)


def planned_by_the_crew() -> Crew:
    """A crew that plans its tasks first."""
    plans = [{"task_number": 1, "plan": ["Look up."]}, {"task_number": 2, "plan": ["Look down."]}]

    def plan(messages: Any) -> str:
        noted("model plans")
        return json.dumps({"list_of_plans_per_task": plans})

    return desk(planning=True, planning_llm=ScriptedLLM(plan, model="gpt-4o"))


def planned_by_the_agent(**fields: Any) -> Crew:
    """An agent that plans its task: its first plan is not ready; with `planning_config` in two steps."""

    def work(messages: Any) -> str:
        first, last = str(messages[0]["content"]), str(messages[-1]["content"])
        if "step_completed_successfully" in first:
            noted("model observes")
            return '{"step_completed_successfully": true, "key_information_learned": "It is deep."}'
        if "depends_on" in last or "READY" in f"{first}{last}":
            improves = "Half a plan" in f"{first}{last}"
            noted("model improves its plan" if improves else "model plans")
            steps: list[dict[str, Any]] = [
                {"step_number": n, "description": f"STEP {n}", "depends_on": []} for n in (1, 2)
            ]
            return json.dumps({"plan": "A plan" if improves else "Half a plan", "steps": steps, "ready": improves})
        noted(f"model works {'on STEP 2' if 'STEP 2' in last and 'STEP 1' not in last else 'on'}")
        return "Final Answer: measured"

    worker = Agent(role="Clerk", goal="Know", backstory="Exact.", llm=ScriptedLLM(work, model="gpt-4o"), **fields)
    task = Task(name="plan", description="FIRST {what}", expected_output="A word", agent=worker)
    last = Task(name="second", description="SECOND", expected_output="A word", agent=clerk(look), context=[task])
    return Crew(name="planners", agents=[worker], tasks=[task, last])


def delegating() -> Crew:
    """An agent that hands its work to a coworker, whose usage counts for both."""

    def lead(messages: Any) -> Any:
        is_done = "it was high" in str(messages[-1]["content"])
        noted(f"model leads{' on' if is_done else ''}")
        work = {"task": "FIRST sea", "context": "at home", "coworker": "Clerk"}
        return "Final Answer: told" if is_done else ToolUse("Delegate work to coworker", work)

    def help_out(messages: Any) -> str:
        noted("model helps")
        return "Final Answer: it was high"

    helper = Agent(role="Clerk", goal="Know", backstory="Exact.", llm=ScriptedLLM(help_out, model="gpt-4o"))
    model = ScriptedLLM(lead, model="gpt-4o-mini")
    leader = Agent(role="Leader", goal="Lead", backstory="Kind.", llm=model, allow_delegation=True)
    first = Task(name="first", description="Find out.", expected_output="A word", agent=leader)
    last = Task(name="second", description="SECOND", expected_output="A word", agent=clerk(look), context=[])
    return Crew(name="team", agents=[leader, helper], tasks=[first, last])


class Leg(BaseModel):
    miles: int
    port: str


class Basket(BaseModel):
    id: str = ""
    legs: list[Leg] = []
    count: int = 0


@persist
class Journey(Flow[Basket]):
    """A crew inside a method, a pydantic state, and a method that is killed."""

    @start()
    def leave(self) -> str:
        noted("leave")
        self.state.legs.append(Leg(miles=12, port="Brest"))
        self.state.count += 1
        return "port"

    @listen(leave)
    def sail(self, port: str) -> str:
        noted("sail")
        self.state.count += 1
        return f"{port} {desk().kickoff({'what': 'sea'}).raw}"

    @listen(sail)
    def arrive(self, told: str) -> str:
        noted("arrive")
        self.state.count += 1
        return f"{told} {self.state.legs[0].port} {self.state.count}"


class Voyage(Flow[Basket]):
    """One method that is persisted, two that are not."""

    @persist
    @start()
    def leave(self) -> None:
        noted("leave")
        self.state.count = 5

    @listen(leave)
    def drift(self) -> None:
        noted("drift")
        self.state.count += 1

    @listen(drift)
    def land(self) -> int:
        noted("land")
        return self.state.count


@persist
class Draft(Flow[dict[str, Any]]):
    """Waits for somebody's judgement of a method's result."""

    @start()
    @human_feedback("Good enough?", emit=["yes", "no"], default_outcome="no")
    def write(self) -> str:
        noted("write")
        return "a draft"

    @listen("yes")
    def send(self, result: Any) -> str:
        noted("send")
        return f"sent {result.output}"


@persist
class Inquiry(Flow[dict[str, Any]]):
    """Asks in the middle of a method."""

    @start()
    def inquire(self) -> str:
        noted("inquire")
        return f"to {self.ask('Where to?')}"


class Counter(Flow[Basket]):
    """Keeps its state in a backend alone."""

    checkpointer = False

    def __init__(self, **options: Any) -> None:
        super().__init__(persistence=SQLiteFlowPersistence("states.db"), **options)

    @start()
    def count(self) -> int:
        noted("count")
        self.state.legs.append(Leg(miles=3, port="Split"))
        self.state.count += 1
        return self.state.count


class Walk(Flow[Any]):
    """Three methods, of which the last is killed."""

    @start()
    def up(self) -> int:
        noted("up")
        return 1

    @listen(up)
    def down(self, before: int) -> int:
        noted("down")
        return before + 1

    @listen(down)
    def home(self, before: int) -> int:
        noted("home")
        return before + 1


def snapshot_config(what: str) -> CheckpointConfig:
    if what == "agent":
        return CheckpointConfig.model_validate(
            {"provider": {"provider_type": "sqlite"}, "on_events": ["llm_call_completed"]}
        )
    return CheckpointConfig(on_events=["method_execution_finished" if what == "flow" else "task_completed"])


def agent() -> Agent:
    return clerk(look, checkpoint=snapshot_config("agent"))


def remembering() -> Crew:
    """A crew with short-term, long-term and entity memory."""
    worker = clerk()
    count = Task(name="count", description="FIRST count the boats", expected_output="A word", agent=worker)
    return Crew(name="harbour", agents=[worker], tasks=[count], memory=True)


def recollections() -> Memory:
    return Memory(llm=False)


def hours() -> Knowledge:
    return Knowledge("hours", ["The harbour opens at six.", "The mill closes at noon."])


def careful(**options: Any) -> Crew:
    """A crew to be trained."""
    worker = clerk()
    tide = Task(name="tide", description="When is the next tide?", expected_output="Hours", agent=worker)
    return Crew(agents=[worker], tasks=[tide], **options)


def feedback(output: TaskOutput) -> str:
    return "In minutes, too" if "minutes" not in output.raw else ""
