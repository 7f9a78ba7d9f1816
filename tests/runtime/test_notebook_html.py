"""HTML of crews and outputs in notebooks: rendered locally, escaped, and without external resources."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from crewgraph import ConditionalTask, Crew, ScriptedLLM
from crewgraph.errors import CompileError
from crewgraph.flow import Flow, listen, persist, start

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
        ("market_research", "-.->", "analysis"),
        ("competitors", "-.->", "analysis"),
        ("analysis", "-->", "review"),
        ("analysis", "-->", "report"),
        ("review", "-->", "report"),
    ]


def test_tasks_are_drawn_under_the_names_that_their_authors_gave_them(tmp_path: Path):
    clerk = agent(ScriptedLLM([]))
    research = task("Market Research (Q3)", clerk)
    unnamed = task("", clerk, description="Read the sources about {topic}, and list the ten that matter most to us")
    made = crew(research, unnamed, task("Report", clerk, context=[research, unnamed]))
    labels = re.findall(r'm\d\("(.+?)<br>', made.to_mermaid())
    assert labels == [
        "Market Research #40;Q3#41;",
        "Read the sources about #123;topic#125;, and list the ten that #8230;",
        "Report",
    ]
    page = Path(made.plot(tmp_path / "crew")).read_text("utf-8")
    assert re.findall(r"<h2>(Market.+?)</h2>", page) == ["Market Research (Q3)"]
    assert 'data-name="market_research_q3"' in page and "<dt>Node</dt><dd><code>market_research_q3</code></dd>" in page
    assert re.findall(r"<text [^>]*>(.*?)</text>", page)[:2] == ["Market", "Research (Q3)"]
    assert "<dd>Market Research (Q3), Read the sources about {topic}" in page


@pytest.mark.parametrize("shown", ["crew", "graph", "output", "task output", "costs", "history", "diff"])
def test_what_a_notebook_shows_is_escaped_and_loads_nothing(shown: str):
    made = brief()
    if shown == "graph":
        html = made.compile()._repr_mimebundle_()["text/html"]  # pyright: ignore[reportPrivateUsage]
    else:
        output = made.kickoff({"topic": "tides"})
        values = {
            "crew": made,
            "output": output,
            "task output": output.tasks_output[0],
            "costs": output.costs,
            "history": made.history(output.thread_id),
            "diff": made.diff(output, output),
        }
        html = values[shown]._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert not ELSEWHERE.search(html)
    assert "<script" not in html
    assert "<b>facts" not in html and "<of>" not in html
    assert {"crew": "market_", "graph": "market_", "costs": "USD"}.get(shown, "&lt;b&gt;facts&lt;/b&gt;") in html


def test_the_output_of_a_crew_shows_what_each_task_took():
    html = brief().kickoff({"topic": "tides"})._repr_html_()  # pyright: ignore[reportPrivateUsage]
    titles, *rows, total = re.findall(r"<tr>(.*?)</tr>", html)
    assert re.findall(r">([^<]+)</th>", titles) == ["task", "agent", "status", "requests", "tokens", "USD"]
    assert [re.findall(r">([^<]*)</td>", row)[0] for row in rows] == [
        "market_research",
        "competitors",
        "analysis",
        "review",
        "report",
    ]
    assert re.findall(r">([^<]*)</td>", total)[:4] == ["total", "", "", "5"]


def cells(html: str) -> list[list[str]]:
    return [re.findall(r">([^<]*)</t[dh]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]


def test_the_output_of_a_crew_shows_which_tasks_were_skipped():
    writer = agent(ScriptedLLM(["facts", "a report"]), "Writer")
    check = ConditionalTask(lambda _: False, name="check", description="d", expected_output="e", agent=writer)
    html = crew(task("research", writer), check, task("report", writer)).kickoff()._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert [row[:3] for row in cells(html)[1:-1]] == [
        ["research", "Writer", "done"],
        ["check", "Writer", "skipped"],
        ["report", "Writer", "done"],
    ]


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


class Review(BaseModel):
    rounds: int = 0


@persist
class Reviewed(Flow[Review]):
    @start()
    def draft(self):
        self.state.rounds += 1
        return "<draft>"

    @listen(draft)
    def publish(self):
        return "published"


def test_the_history_of_a_flow_is_shown_as_a_table_of_its_methods():
    flow = Reviewed()
    flow.kickoff()
    html = flow.history()._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert [row[:5] for row in cells(html)] == [
        ["step", "method", "output", "changes of the state", "next"],
        ["0", "(start)", "", "rounds=0", "draft"],
        ["1", "draft", "&lt;draft&gt;", "rounds=1", "publish"],
        ["2", "publish", "published", "", ""],
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


def test_one_task_is_described_in_the_singular():
    writer = agent(ScriptedLLM([]), "Writer")
    one, two = crew(task("a", writer)), crew(task("a", writer), task("b", writer))
    described = [re.findall(r"<desc[^>]*>(.*?)</desc>", made._repr_html_()) for made in (one, two)]  # pyright: ignore[reportPrivateUsage]
    assert described == [["1 task."], ["2 tasks and 1 edge between them, from left to right."]]


def test_a_crew_is_plotted_to_a_page_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = brief().plot(tmp_path / "brief")
    assert capsys.readouterr().out == f"Crew `brief` plotted to {path}\n"
    page = Path(path).read_text("utf-8")
    assert not ELSEWHERE.search(page)
    assert "conditional task" in page and "Context" in page and "market_research, competitors" in page


def test_a_crew_that_cannot_be_compiled_shows_why():
    made = crew(task("one", agent(ScriptedLLM([]))))
    made.tasks = []
    assert "<svg" in made._repr_html_() or "<pre>" in made._repr_html_()  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(CompileError):
        made.compile()


def test_long_names_and_answers_stay_inside_a_narrow_cell():
    clerk = agent(ScriptedLLM(["x" * 3000]), "very " * 60)
    output = crew(task("t" * 200, clerk)).kickoff()
    html = output._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "overflow-wrap:anywhere" in html and "max-height" in html and "overflow-x:auto" in html
    assert "very " * 20 not in html and "t" * 100 not in html


def test_an_answer_from_right_to_left_is_shown_from_right_to_left():
    output = crew(task("a", agent(ScriptedLLM(["مرحبا"])))).kickoff()
    assert '<div dir="auto"' in output._repr_html_()  # pyright: ignore[reportPrivateUsage]
