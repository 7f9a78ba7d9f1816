"""What crews and their outputs show in notebooks: drawn here, escaped, and loaded from nowhere."""

import re
from pathlib import Path

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
        ("market_research", "-.->", "analysis"),
        ("competitors", "-.->", "analysis"),
        ("analysis", "-->", "review"),
        ("analysis", "-->", "report"),
        ("review", "-->", "report"),
    ]


@pytest.mark.parametrize("shown", ["crew", "graph", "output", "task output", "costs"])
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
        }
        html = values[shown]._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert not ELSEWHERE.search(html)
    assert "<script" not in html
    assert "<b>facts" not in html and "<of>" not in html
    assert {"crew": "market_", "graph": "market_", "costs": "USD"}.get(shown, "&lt;b&gt;facts&lt;/b&gt;") in html


def test_the_output_of_a_crew_shows_what_each_task_took():
    html = brief().kickoff({"topic": "tides"})._repr_html_()  # pyright: ignore[reportPrivateUsage]
    titles, *rows, total = re.findall(r"<tr>(.*?)</tr>", html)
    assert re.findall(r">([^<]+)</th>", titles) == ["task", "agent", "requests", "tokens", "USD"]
    assert [re.findall(r">([^<]*)</td>", row)[0] for row in rows] == [
        "market_research",
        "competitors",
        "analysis",
        "review",
        "report",
    ]
    assert re.findall(r">([^<]*)</td>", total)[:3] == ["total", "", "5"]


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
