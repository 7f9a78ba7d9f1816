"""Code of users that raises: callbacks, hooks, tools, conditions; what the program catches of it."""

import asyncio

from crewai import Agent, Crew, Task
from crewai.tasks.conditional_task import ConditionalTask
from crewai.tools import tool


class MyError(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def raiser(error):
    def f(*a, **k):
        raise error

    return f


agent = Agent(role="A", goal="g", backstory="b")


def attempt(name, what):
    try:
        out = what()
        print(name, "fine", getattr(out, "raw", out))
    except BaseException as e:
        print(name, type(e).__name__, getattr(e, "code", None), str(e)[:30] if isinstance(e, MyError) else "")


def crew(**kw):
    task_kw = kw.pop("task", {})
    agent_kw = kw.pop("agent", {})
    a = Agent(role="A", goal="g", backstory="b", **agent_kw)
    return Crew(agents=[a], tasks=[Task(description="Do DESC-1", expected_output="e", agent=a, **task_kw)], **kw)


@tool("t")
def t(x: str) -> str:
    """T."""
    raise MyError(7, "in a tool")


attempt("task callback", lambda: crew(task={"callback": raiser(MyError(1, "in a callback"))}).kickoff())
attempt("crew task callback", lambda: crew(task_callback=raiser(MyError(2, "in the crew's"))).kickoff())
attempt("before", lambda: crew(before_kickoff_callbacks=[raiser(MyError(5, "before"))]).kickoff())
attempt("after", lambda: crew(after_kickoff_callbacks=[raiser(MyError(6, "after"))]).kickoff())
attempt("tool", lambda: crew(agent={"tools": [t]}).kickoff())
c1 = Task(description="One DESC-2", expected_output="e", agent=agent)
c2 = ConditionalTask(
    description="Two DESC-3", expected_output="e", agent=agent, condition=raiser(MyError(8, "in a condition"))
)
attempt("condition", lambda: Crew(agents=[agent], tasks=[c1, c2]).kickoff())
attempt("for each", lambda: crew(task={"callback": raiser(MyError(9, "each"))}).kickoff_for_each([{"a": 1}, {"a": 2}]))
attempt("async", lambda: asyncio.run(crew(task={"callback": raiser(MyError(10, "async"))}).kickoff_async()))
attempt("keyboard", lambda: crew(task={"callback": raiser(KeyboardInterrupt())}).kickoff())
attempt("exit", lambda: crew(task={"callback": raiser(SystemExit(3))}).kickoff())
attempt("assertion", lambda: crew(task={"callback": raiser(AssertionError("s"))}).kickoff())
attempt("group", lambda: crew(task={"callback": raiser(ExceptionGroup("g", [ValueError("v")]))}).kickoff())
attempt("again", lambda: crew().kickoff())

script = {"DESC-1": ["OUT-1"], "DESC-2": ["OUT-2"], "DESC-3": ["OUT-3"]}
