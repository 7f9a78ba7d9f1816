"""`max_tokens`, `max_cost` and `max_seconds` of crews: a run stops before the request that would be too much, and goes on."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import processes
import pytest
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode
from pydantic import BaseModel, ValidationError
from servers.openai_api import OpenAIServer, text
from waiting import LIMITS, LONG, BlockedCall, wait_until

from crewgraph import Agent, Crew, LLMGuardrail, Process, ScriptedLLM, ToolUse
from crewgraph.definitions.task.conversion import Converter
from crewgraph.errors import BudgetExceeded, UnknownPrice
from crewgraph.flow import Flow, persist, start
from crewgraph.llm import prices
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool

from .parts import agent, by_prompt, crew, served, task

ELEVEN = {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11}


@pytest.fixture(autouse=True)
def own_prices() -> Iterator[None]:
    yield
    prices.replace(None)


def counted(*script: Any, **more: Any) -> ScriptedLLM:
    """A model each of whose requests uses eleven tokens."""
    return ScriptedLLM(list(script), usage=ELEVEN, **more)


def chain(llm: ScriptedLLM, length: int = 3, **more: Any) -> Crew:
    worker = agent(llm, role="clerk")
    return crew(*(task(f"t{n}", worker) for n in range(length)), **more)


def test_a_run_stops_before_the_next_request_and_continues_when_its_budget_is_raised(mode: Mode):
    llm = counted("one", "two", "three")
    made = chain(llm, max_tokens=20)
    with pytest.raises(BudgetExceeded) as stopped:
        mode.kickoff(made, thread_id="a")
    assert len(llm.requests) == 2
    error = stopped.value
    assert (error.budget, error.spent, error.limit, error.thread_id) == ("max_tokens", 22, 20, "a")
    assert [one.raw for one in error.output.tasks_output] == ["one", "two"]
    assert error.output.raw == "two" and error.output.token_usage.total_tokens == 22
    assert error.used["clerk"]["scripted"].total_tokens == 22
    assert [run.status for run in made.runs()] == ["failed"]
    assert str(error) == (
        "the run of crew `crew` stopped: 22 tokens are spent, and its `max_tokens` is 20 tokens. Used by: clerk 22 tokens in 2 "
        'requests to `scripted`. Raise it (`crew.max_tokens = ...`) and continue with `crew.resume("a")`, which repeats nothing '
        "and counts what was spent before."
    )
    with pytest.raises(BudgetExceeded):
        mode.resume(made, "a")
    made.max_tokens = 23
    result = mode.resume(made, "a")
    assert result.raw == "three" and len(llm.requests) == 3
    assert result.token_usage.total_tokens == 33


class Number(BaseModel):
    n: int


def busy(llm: ScriptedLLM) -> Crew:
    """Plans, uses a tool, is condensed, is judged and sent back, and is converted by another request."""

    @tool
    def look(what: str) -> str:
        """Look at something."""
        return what * 300

    worker = agent(llm, role="clerk", tools=[look], reasoning=True, max_retry_limit=2)
    first = task("first", worker, guardrail=LLMGuardrail("no verse", llm))
    return crew(first, task("second", agent(llm, role="converter"), output_json=Number))


def script() -> list[Any]:
    too_long = RuntimeError("maximum context length exceeded")
    return [
        *("a plan\nREADY: yes", ToolUse("look", {"what": "sea"}), too_long, "condensed"),
        *("Final Answer: rhymes", '{"valid": false, "feedback": "rhymes"}'),
        *("a plan\nREADY: yes", "Final Answer: prose", '{"valid": true}', "it is three", '{"n": 3}'),
    ]


def test_whatever_asks_a_model_counts_and_nothing_is_asked_twice(mode: Mode):
    whole = counted(*script())
    assert mode.kickoff(busy(whole)).json_dict == {"n": 3}
    failed = 1  # the one that was too long
    requests = len(whole.requests)
    for answered in range(1, requests - failed):
        llm = counted(*script())
        made = busy(llm)
        made.max_tokens = answered * 11
        with pytest.raises(BudgetExceeded) as stopped:
            mode.kickoff(made, thread_id=f"busy-{answered}")
        assert stopped.value.spent == answered * 11
        made.max_tokens = None
        assert mode.resume(made, f"busy-{answered}").json_dict == {"n": 3}
        # The failure that the loop met is recorded with what came of it, unless the run stopped right behind it.
        assert requests <= len(llm.requests) <= requests + 1


PROGRAM = """
    import os, signal, sys
    from crewgraph import Agent, Crew, ScriptedLLM, Task
    from crewgraph.storage.checkpoints import SqliteCheckpointer

    def reply(messages):
        if len(llm.requests) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"answer {len(llm.requests)}"

    llm = ScriptedLLM(reply, usage={"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11})
    clerk = Agent(role="clerk", goal="g", backstory="b", llm=llm, guardrail_max_retries=3)
    refused = lambda output: (output.raw == "answer 4", output.raw)
    tasks = [
        Task(name="t0", description="do t0", expected_output="a text", agent=clerk),
        Task(name="t1", description="do t1", expected_output="a text", agent=clerk, guardrail=refused),
    ]
    crew = Crew(agents=[clerk], tasks=tasks, max_tokens=1000, checkpointer=SqliteCheckpointer(sys.argv[1]))
    crew.kickoff(thread_id="k", granularity=sys.argv[2])
"""


def test_what_a_killed_process_has_spent_counts(mode: Mode, tmp_path: Path):
    file = str(tmp_path / "runs.db")
    ended = processes.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), file, mode.granularity],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    llm = counted("answer 3", "answer 4")
    clerk = agent(llm, role="clerk")

    def refused(output: Any) -> tuple[bool, str]:
        return output.raw == "answer 4", output.raw

    with SqliteCheckpointer(file) as runs:
        made = crew(task("t0", clerk), task("t1", clerk, guardrail=refused), max_tokens=22, checkpointer=runs)
        with pytest.raises(BudgetExceeded) as stopped:
            mode.resume(made, "k")
        assert stopped.value.spent == 22 and not llm.requests
        assert [one.raw for one in stopped.value.output.tasks_output] == ["answer 1"]
        made.max_tokens = 33
        with pytest.raises(BudgetExceeded) as stopped:
            mode.resume(made, "k")
        assert stopped.value.spent == 33 and len(llm.requests) == 1
        made.max_tokens = 34
        assert mode.resume(made, "k").raw == "answer 4"


def test_parallel_tasks_overshoot_by_no_more_than_the_requests_under_way_and_none_of_these_is_lost(mode: Mode):
    beside = 5

    def reply(messages: list[dict[str, Any]]) -> str:
        time.sleep(0.02 * (len(llm.requests) % 3))
        return by_prompt(messages)

    llm = ScriptedLLM(reply, usage=ELEVEN)
    worker = agent(llm, role="clerk")

    several = [task(f"s{n}", worker, description=f"say {n}", async_execution=True) for n in range(beside)]
    made = crew(*several, task("last", worker, description="say end"), max_tokens=1)
    with pytest.raises(BudgetExceeded) as stopped:
        mode.kickoff(made, thread_id="p")
    under_way = len(llm.requests)
    assert 1 <= under_way <= beside
    assert stopped.value.spent == 11 * under_way <= 1 + 11 * beside
    made.max_tokens = None
    result = mode.resume(made, "p")
    assert result.raw == "end"
    assert len(llm.requests) == beside + 1, "what was under way when the budget was used up is kept"
    assert result.token_usage.total_tokens == 11 * (beside + 1)


def test_what_works_alongside_a_task_that_is_stopped_comes_to_its_own_stop(mode: Mode):
    slow_done: list[str] = []

    @tool
    def slow(what: str) -> str:
        """Take a while."""
        started.set()
        wait_until(lambda: len(llm.requests) == 3)
        time.sleep(0.3)  # what works beside is about to stop
        slow_done.append(what)
        return "done"

    started = threading.Event()

    def reply(messages: Any) -> Any:
        if "slow" in str(messages):
            return SLOW
        started.wait(LONG)
        return "Final Answer: quick"

    llm = ScriptedLLM(reply, usage=ELEVEN)
    tooled, quick = agent(llm, role="tooled", tools=[slow]), agent(llm, role="quick")

    def never(output: Any) -> tuple[bool, str]:
        return False, "again"

    made = crew(
        task("a", tooled, description="slow", async_execution=True),
        task("b", quick, guardrail=never, guardrail_max_retries=50, async_execution=True),
        task("end", quick),
        max_tokens=33,
    )
    with pytest.raises(BudgetExceeded):
        mode.kickoff(made, thread_id="w")
    assert slow_done == ["x"]
    with pytest.raises(BudgetExceeded):
        mode.resume(made, "w")
    assert slow_done == ["x"], "its result was recorded"


SLOW = ToolUse("slow", {"what": "x"})


def test_a_crew_that_a_tool_kicks_off_counts_for_the_run_around_it_too(mode: Mode):
    inner_llm = counted("inner one", "inner two")
    inner = chain(inner_llm, 2)

    @tool
    def ask() -> str:
        """Ask a team."""
        return inner.kickoff().raw

    llm = counted(ToolUse("ask"), "Final Answer: outer")
    made = crew(task("t", agent(llm, role="chief", tools=[ask])), max_tokens=22)
    with pytest.raises(BudgetExceeded) as stopped:
        mode.kickoff(made, thread_id="n")
    assert (len(llm.requests), len(inner_llm.requests)) == (1, 1)
    assert {who: by["scripted"].total_tokens for who, by in stopped.value.used.items()} == {"chief": 11, "clerk": 11}
    made.max_tokens = 33
    with pytest.raises(BudgetExceeded) as stopped:
        mode.resume(made, "n")
    assert stopped.value.spent == 33 and (len(llm.requests), len(inner_llm.requests)) == (1, 2)
    made.max_tokens = None
    assert mode.resume(made, "n").raw == "outer"
    assert (len(llm.requests), len(inner_llm.requests)) == (2, 2)


def test_a_compiled_graph_keeps_to_the_budgets_of_its_crew(mode: Mode):
    llm, saver = counted("one", "two", "three", "four"), InMemorySaver()
    made = chain(llm, max_tokens=20)
    graph, config = mode.compile(made, checkpointer=saver), {"configurable": {"thread_id": "g"}}
    with pytest.raises(BudgetExceeded, match="crew.resume"):
        mode.invoke(graph, {"inputs": {}}, config)
    assert sorted(mode.state(graph, config).values) == ["inputs", "t0", "t1"]
    made.max_tokens = 40
    assert mode.invoke(graph, None, config)["t2"]["raw"] == "three"
    assert len(llm.requests) == 3
    copied = graph.with_config({"tags": ["x"]})
    made.max_tokens = 1
    with pytest.raises(BudgetExceeded):
        mode.invoke(copied, {"inputs": {}}, {"configurable": {"thread_id": "h"}})


def test_a_flow_whose_crew_is_stopped_continues_with_it(mode: Mode):
    llm = counted("one", "two", "three")
    made = chain(llm, max_tokens=20)

    @persist
    class Asking(Flow[dict[str, Any]]):
        @start()
        def inquire(self) -> str:
            return mode.kickoff(made).raw

    flow = Asking()
    with pytest.raises(BudgetExceeded) as stopped:
        flow.kickoff()
    assert [one.raw for one in stopped.value.output.tasks_output] == ["one", "two"]
    made.max_tokens = 30
    assert Asking().resume(flow.flow_id) == "three"
    assert len(llm.requests) == 3


def test_money_is_counted_by_the_prices_of_the_models(mode: Mode):
    prices.register("scripted", input=100_000, output=500_000)  # 1.50 USD for each request
    llm = counted("one", "two", "three")
    made = chain(llm, max_cost=2.5)
    with pytest.raises(BudgetExceeded, match=r"\$3\.000000 are spent, and its `max_cost` is \$2\.500000") as stopped:
        mode.kickoff(made, thread_id="m")
    assert stopped.value.spent == pytest.approx(3) and stopped.value.output.cost == pytest.approx(3)
    made.max_cost = 4
    assert mode.resume(made, "m").cost == pytest.approx(4.5)


def test_a_model_without_a_price_is_refused_before_anything_is_paid_for(mode: Mode):
    first, second = counted("one"), ScriptedLLM(["two"], model="unheard-of")
    made = crew(task("a", agent(first)), task("b", agent(second)), max_cost=1)
    prices.register("scripted", input=1, output=1)
    with pytest.raises(UnknownPrice, match=r"the price of the model `unheard-of` is unknown.*prices.register"):
        mode.kickoff(made)
    assert not first.requests
    graph = mode.compile(made, checkpointer=False)
    with pytest.raises(UnknownPrice):
        mode.invoke(graph, {"inputs": {}})
    assert len(first.requests) == 1


def test_a_model_that_does_not_tell_its_tokens_is_warned_of_once(mode: Mode):
    made = chain(ScriptedLLM(["a", "b", "c"], usage={}), max_tokens=5)
    with pytest.warns(UserWarning, match="`scripted` does not report how many tokens it uses") as reported:
        mode.kickoff(made)
    assert len(reported) == 1


def test_time_is_bounded_while_a_model_is_waited_for_and_over_all_parts_of_a_run(mode: Mode):
    with BlockedCall() as late:
        made, began = chain(ScriptedLLM(late), 1, max_seconds=0.4), time.monotonic()
        llm = cast("ScriptedLLM", made.agents[0].llm)
        with pytest.raises(BudgetExceeded) as stopped:
            mode.kickoff(made, thread_id="s")
        assert stopped.value.budget == "max_seconds" and 0.4 <= stopped.value.spent <= time.monotonic() - began
        assert "seconds are spent, and its `max_seconds` is 0.4 seconds" in str(stopped.value)
        asked = len(llm.requests)
        with pytest.raises(BudgetExceeded):
            mode.resume(made, "s")
        assert len(llm.requests) == asked, "there was no time left"
        for seconds in LIMITS:
            made.max_seconds = stopped.value.spent + seconds
            with pytest.raises(BudgetExceeded) as stopped:
                mode.resume(made, "s")
            assert made.max_seconds <= stopped.value.spent <= time.monotonic() - began
            if len(llm.requests) > asked:
                break
        assert len(llm.requests) == asked + 1
    made.max_seconds, llm.script, llm.repeat_last = 1000, ScriptedLLM(["in time"]).script, True
    assert mode.resume(made, "s").raw == "in time"


def test_a_tool_that_is_under_way_when_the_time_is_up_is_not_waited_for(mode: Mode):
    for seconds in LIMITS:
        with BlockedCall() as work:

            @tool
            def slow() -> str:
                """Take long."""
                return work()

            model = counted(ToolUse("slow"), "Final Answer: x")
            made = crew(task("t", agent(model, tools=[slow])), max_seconds=seconds)
            with pytest.raises(BudgetExceeded):
                mode.kickoff(made)
        if work.started.is_set():
            break
    else:
        raise AssertionError("it never began")
    assert work.ended.wait(LONG)


def test_the_models_of_an_executor_count_and_are_stopped():
    with OpenAIServer(lambda _: text("fine", usage=ELEVEN)) as server:
        chat = served(server.url).chat_model()

        def work(given: str) -> str:
            return "".join(str(chat.invoke(given).content) for _ in range(5))

        made = crew(task("t", agent(None, role="chief", agent_executor=RunnableLambda(work))), max_tokens=30)
        with pytest.raises(BudgetExceeded) as stopped:
            made.kickoff()
        assert len(server.requests) == 3 and stopped.value.used["chief"]["test"].total_tokens == 33


def test_a_custom_converter_counts(mode: Mode):
    class Own(Converter):
        pass

    llm = counted("it is three", '{"n": 3}', "end")
    made = crew(task("a", agent(llm), output_pydantic=Number, converter_cls=Own), task("b", agent(llm)), max_tokens=22)
    with pytest.raises(BudgetExceeded) as stopped:
        mode.kickoff(made)
    assert stopped.value.spent == 22 and len(llm.requests) == 2


@pytest.mark.parametrize("field", ["max_tokens", "max_cost", "max_seconds"])
@pytest.mark.parametrize("value", [0, -1, "5", True, float("nan"), float("inf"), [5]])
def test_a_budget_that_bounds_nothing_is_refused(field: str, value: Any):
    with pytest.raises(ValidationError, match=rf"`{field}` is a (whole )?number above 0, in \w+, or None"):
        Crew(agents=[agent(counted())], tasks=[], **{field: value})
    made = chain(counted("one"), 1)
    setattr(made, field, value)
    with pytest.raises(ValueError, match=f"`{field}` is a"):
        made.kickoff()


def test_an_agent_in_a_tool_counts(mode: Mode):
    helper = agent(counted("helped", "helped"), role="helper")

    @tool
    def ask() -> str:
        """Ask somebody."""
        assert isinstance(helper, Agent)
        return helper.kickoff("help").raw

    llm = counted(ToolUse("ask"), "Final Answer: x")
    made = crew(task("t", agent(llm, role="chief", tools=[ask])), max_tokens=22)
    with pytest.raises(BudgetExceeded) as stopped:
        mode.kickoff(made)
    assert sorted(stopped.value.used) == ["chief", "helper"]


def test_managers_and_coworkers_count_and_their_work_is_not_repeated(mode: Mode):
    given = {"coworker": "clerk", "task": "look it up", "context": "all of it"}
    boss = counted(ToolUse("delegate_work_to_coworker", given), "Final Answer: managed")
    clerk = counted("looked up")
    worker = agent(clerk, role="clerk")
    made = Crew(
        agents=[worker],
        tasks=[task("t", worker)],
        process=Process.hierarchical,
        manager_agent=agent(boss, role="boss", allow_delegation=True),
        max_tokens=22,
    )
    with pytest.raises(BudgetExceeded) as stopped:
        mode.kickoff(made, thread_id="h")
    assert {who: by["scripted"].total_tokens for who, by in stopped.value.used.items()} == {"boss": 11, "clerk": 11}
    made.max_tokens = None
    prices.register("scripted", input=100_000, output=0)
    result = mode.resume(made, "h")
    assert result.raw == "managed" and (len(boss.requests), len(clerk.requests)) == (2, 1)
    assert result.costs.by_agent == {"boss": pytest.approx(2), "clerk": pytest.approx(1)}
    assert result.costs.usd == result.cost == pytest.approx(3)
