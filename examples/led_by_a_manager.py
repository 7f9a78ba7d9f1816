"""A manager hands work to two agents, one of whom needs leave to send a letter; needs no key.

Run it: python examples/led_by_a_manager.py
"""

from crewgraph import Agent, Crew, PendingCrew, Process, ScriptedLLM, Task, ToolUse
from crewgraph.tools import tool

posted: list[str] = []


@tool(require_approval=True)
def post(letter: str) -> str:
    """Post a letter."""
    posted.append(letter)
    return "It is on its way."


def hand_over(task: str, coworker: str) -> ToolUse:
    """What the manager's model asks for."""
    args = {"task": task, "context": "The mayor asked on Monday.", "coworker": coworker}
    return ToolUse("Delegate work to coworker", args)


clerk = Agent(
    role="Clerk",
    goal="Know the numbers",
    backstory="You count twice.",
    llm=ScriptedLLM(["The town has 7,312 people."]),
)
writer = Agent(
    role="Letter writer",
    goal="Write letters that are read",
    backstory="You are short.",
    llm=ScriptedLLM([ToolUse("post", {"letter": "Dear mayor, 7,312."}), "The letter is posted."]),
    tools=[post],
)
# The manager asks both, one after the other.
manager = ScriptedLLM(
    [hand_over("How many people?", "clerk"), hand_over("Tell the mayor: 7,312", "letter writer"), "The mayor is told."]
)
crew = Crew(
    name="town hall",
    agents=[clerk, writer],
    tasks=[Task(name="answer", description="Answer the mayor: how many are we?", expected_output="What was done")],
    process=Process.hierarchical,
    manager_llm=manager,
)

if __name__ == "__main__":
    result = crew.kickoff()
    if isinstance(result, PendingCrew):  # nobody sits at a terminal: the run waits, for days if need be
        print("waits: ", result.questions[0].told())
        assert result.thread_id is not None
        result = crew.resume(result.thread_id, "yes")
    print("result:", result.raw)
    print("posted:", posted)
    for role, usage in result.usage_by_agent.items():
        print(f"{role}: {usage.successful_requests} requests")
