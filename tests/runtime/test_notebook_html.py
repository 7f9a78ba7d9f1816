"""HTML of crews and outputs in notebooks: rendered locally, escaped, and without external resources."""

import re

import pytest

from crewgraph import ConditionalTask, Crew, ScriptedLLM
from crewgraph.errors import CompileError

from .parts import agent, crew, task

ELSEWHERE = re.compile(r"""(?:src|href)\s*=|url\((?!#)|@import|https?://(?!www\.w3\.org/)""")


def brief() -> Crew:
    writer = agent(ScriptedLLM(["<b>facts</b>"], repeat_last=True), "Writer <of> {topic}")
    first = task("market_research", writer, async_execution=True)
    second = task("competitors", writer, async_execution=True)
    both = task("analysis", writer, context=[first, second])
    review = ConditionalTask(lambda _: True, name="review", description="Check it.", expected_output="e", agent=writer)
    return crew(first, second, both, review, task("report", writer), name="brief")


def test_a_crew_is_drawn_as_it_runs():
    text = brief().to_mermaid()
    nodes = dict(re.findall(r'(m\d)\("(\w+)<br>', text))
    edges = [(nodes[a], arrow, nodes[b]) for a, arrow, b in re.findall(r"(m\d) (-\.->|-->)(?:\|[^|]*\|)? (m\d)", text)]
    assert edges == [
        ("market_research", "-.->", "analysis"), ("competitors", "-.->", "analysis"),
        ("analysis", "-->", "review"), ("analysis", "-->", "report"), ("review", "-->", "report"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "shown", ["agent", "task", "crew", "graph", "output", "task output", "costs", "history", "diff"]
)
def test_what_a_notebook_shows_is_escaped_and_loads_nothing(shown: str):
    made = brief()
    if shown == "graph":
        html = made.compile()._repr_mimebundle_()["text/html"]  # pyright: ignore[reportPrivateUsage]
    else:
        output = made.kickoff({"topic": "tides"})
        values = {
            "agent": made.agents[0], "task": made.tasks[0], "crew": made, "output": output,
            "task output": output.tasks_output[0], "costs": output.costs,
            "history": made.history(output.thread_id), "diff": made.diff(output, output),
        }  # fmt: skip
        html = values[shown]._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert not ELSEWHERE.search(html)
    assert "<script" not in html
    assert "<b>facts" not in html and "<of>" not in html
    assert {"agent": "Writer &lt;of&gt;", "crew": "market_", "graph": "market_", "costs": "USD"}.get(
        shown, "&lt;b&gt;facts&lt;/b&gt;"
    ) in html


def test_answers_in_markdown_are_rendered_and_load_nothing():
    answer = "# Tides\n\n| a |\n|-|\n| **1** |\n\n![x](http://a.example/b) <img src='http://a.example/c'>"
    output = crew(task("one", agent(ScriptedLLM([answer])))).kickoff()
    html = output._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "<h1>Tides</h1>" in html and "<td><strong>1</strong></td>" in html
    assert "<img" not in html


def test_the_output_of_a_crew_shows_what_each_task_took():
    html = brief().kickoff({"topic": "tides"})._repr_html_()  # pyright: ignore[reportPrivateUsage]
    titles, *rows, total = re.findall(r"<tr>(.*?)</tr>", html)
    assert re.findall(r">([^<]+)</th>", titles) == ["task", "agent", "status", "requests", "tokens", "USD"]
    assert [re.findall(r">([^<]*)</td>", row)[0] for row in rows] == [
        "market_research", "competitors", "analysis", "review", "report",
    ]  # fmt: skip
    assert re.findall(r">([^<]*)</td>", total)[:4] == ["total", "", "", "5"]


def cells(html: str) -> list[list[str]]:
    return [re.findall(r">([^<]*)</t[dh]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]


def test_the_history_of_a_crew_is_shown_as_a_table_of_its_tasks():
    writer = agent(ScriptedLLM(["facts", TimeoutError("no answer"), "a report"]), "Writer", max_retry_limit=0)
    made = crew(task("research", writer), task("report", writer))
    with pytest.raises(TimeoutError):
        made.kickoff(thread_id="shown")
    html = made.history("shown")._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert [row[:5] for row in cells(html)] == [
        ["step", "task", "agent", "status", "output"],
        ["0", "", "", "started", ""],
        ["1", "research", "Writer", "done", "facts"],
        ["", "report", "", "failed", "TimeoutError(&#x27;no answer&#x27;)"],
    ]
    assert re.fullmatch(r"\d+ ms|\d+\.\d s", cells(html)[2][-1])
    made.resume("shown")
    writer.llm = ScriptedLLM(["another report"])
    other = made.fork("report", thread_id="shown")
    assert [line.split()[:4] for line in str(made.history(other.thread_id)).splitlines()] == [
        ["step", "task", "agent", "status"],
        ["0", "research", "Writer", "reused"],
        ["1", "report", "Writer", "done"],
    ]


def test_a_run_that_waits_shows_what_it_asks():
    clerk = agent(ScriptedLLM(["a <draft>"]), "Clerk")
    waiting = crew(task("write", clerk, human_input=True), name="desk").kickoff()
    html = waiting._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "Crew desk waits for an answer" in html and "a &lt;draft&gt;" in html


def test_costs_are_a_table_at_the_prompt_and_in_print():
    costs = brief().kickoff({"topic": "tides"}).costs
    assert repr(costs) == str(costs)
    assert str(costs).startswith("task ") and "\ntotal " in str(costs)


def test_a_crew_that_cannot_be_compiled_shows_why():
    made = crew(task("one", agent(ScriptedLLM([]))))
    made.tasks = []
    assert "<svg" in made._repr_html_() or "<pre>" in made._repr_html_()  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(CompileError):
        made.compile()
