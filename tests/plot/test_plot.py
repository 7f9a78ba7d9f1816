"""Drawing flows: files, events, mermaid, notebooks."""

import re
import webbrowser
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from crewgraph.errors import DefinitionError
from crewgraph.events import FlowPlotEvent, crewai_event_bus
from crewgraph.flow import Flow, FlowPlot, listen, or_, router, start
from plot.flows import LoopFlow, MyFlow, crowd

NASTY = "</script><script>alert(1)</script><b onclick='x'>&amp;\"${title}"


class Nasty(Flow[dict[str, Any]]):
    name = f"Nasty {NASTY}"

    @start()
    def begin(self, given: str = NASTY) -> str:
        return ""

    @router(begin, emit=[NASTY, "]] --> x", "größer"])
    def décide(self):
        return self.state

    @listen(or_(NASTY, "]] --> x", "größer"))
    def 結果(self):
        pass

    begin.__doc__ = f"{NASTY}\ud800"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Elements(HTMLParser):
    """The elements of a page, and its texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("my_workflow", "my_workflow.html"), ("my_workflow.html", "my_workflow.html"), ("a.HTML", "a.HTML"),
        ("v1.2", "v1.2.html"), (Path("deep/flow"), str(Path("deep/flow.html"))),
    ],
)  # fmt: skip
def test_the_path_is_returned_and_printed(given: Any, written: str, folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "deep").mkdir()
    assert MyFlow().plot(given) == written
    assert capsys.readouterr().out == f"Flow `MyFlow` plotted to {written}\n"
    assert (folder / written).read_text("utf-8").startswith("<!DOCTYPE html>")


def test_the_class_can_be_plotted_and_flow_plot_does_the_same(folder: Path):
    assert MyFlow.plot("a") == "a.html"
    assert FlowPlot(MyFlow()).plot("b") == "b.html"
    assert FlowPlot(MyFlow).plot("c.html") == "c.html"
    assert MyFlow().plot() == "crewai_flow.html"
    assert len({(folder / name).read_bytes() for name in ("a.html", "b.html", "c.html", "crewai_flow.html")}) == 1


def test_a_name_that_is_none_and_a_folder_that_is_missing_are_refused(folder: Path):
    with pytest.raises(ValueError, match="pass a file name"):
        MyFlow.plot("")
    with pytest.raises(FileNotFoundError):
        MyFlow.plot("nowhere/flow")


def test_listeners_are_reported_unless_the_flow_suppresses_it():
    reported: list[tuple[Any, str]] = []
    with crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(FlowPlotEvent)
        def note(source: Any, event: FlowPlotEvent) -> None:
            reported.append((source, event.flow_name))

        flow = MyFlow()
        flow.plot("x")
        MyFlow(suppress_flow_events=True).plot("x")
        MyFlow.plot("x")
        crewai_event_bus.flush()
    assert reported == [(flow, "MyFlow"), (MyFlow, "MyFlow")]


def test_show_opens_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch):
    opened: list[str] = []

    class Seen(webbrowser.BaseBrowser):
        def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:
            opened.append(url)
            return True

    monkeypatch.setattr(webbrowser, "_tryorder", [])
    monkeypatch.setattr(webbrowser, "_browsers", {})
    webbrowser.register("seen", None, Seen("seen"), preferred=True)
    MyFlow.plot("x", show=True)
    assert opened == [(folder / "x.html").as_uri()]


def test_faults_are_raised_and_doubts_warned():
    class Faulty(Flow[dict[str, Any]]):
        @listen("nothing")
        def wait(self):
            pass

    class Doubtful(Flow[dict[str, Any]]):
        @start()
        def begin(self):
            pass

        @listen("begni")
        def wait(self):
            pass

    for draw in (Faulty.plot, Faulty().plot, Faulty.to_mermaid, FlowPlot(Faulty).plot):
        with pytest.raises(DefinitionError, match=r"flow `Faulty` has no `@start\(\)` method"):
            draw()
    assert "has no `@start()` method" in Faulty()._repr_html_()  # pyright: ignore[reportPrivateUsage]
    with pytest.warns(UserWarning, match="Did you mean `begin`") as warned:
        Doubtful.plot("x")
    assert warned[0].filename == __file__


def test_every_method_and_way_is_in_the_page(folder: Path):
    flow = crowd(100)
    page = Elements((folder / flow.plot("x")).read_text("utf-8"))
    classes = [(given.get("class") or "").split() for tag, given in page.found if tag == "g"]
    assert sum("method" in one for one in classes) == 102
    shapes = {name for one in classes for name in one} & {"start", "listener", "router"}
    assert shapes == {"start", "listener", "router"}
    ways = {
        (given["data-from"], given["data-to"]) for tag, given in page.found if tag == "path" and "data-from" in given
    }
    expected = {
        (edge.source, edge.target)
        for edge in flow().compile().get_graph().edges
        if not {edge.source, edge.target} & {"__start__", "__end__"}
    }
    assert ways == expected


def test_shapes_and_borders_say_what_a_method_is(folder: Path):
    text = (folder / MyFlow.plot("x")).read_text("utf-8")
    drawn = {
        name: (kinds, shape)
        for kinds, name, shape in re.findall(
            r'<g class="method ([^"]*)" data-name="(\w+)".*?<(\w+) class="shape"', text, re.S
        )
    }
    assert drawn == {
        "init": ("start begins", "circle"), "process": ("listener", "ellipse"), "decide": ("router", "polygon"),
        "handle_a": ("listener", "ellipse"), "handle_b": ("listener crew", "ellipse"),
    }  # fmt: skip


def test_texts_of_users_are_only_texts(folder: Path):
    text = (folder / Nasty.plot("x")).read_text("utf-8")
    page = Elements(text)
    assert [tag for tag, _ in page.found].count("script") == 1
    assert not any(name.startswith("on") for _, given in page.found for name in given)
    assert "b" not in [tag for tag, _ in page.found]
    assert any(NASTY in one for one in page.texts)
    assert not re.search(r"""(src|href)\s*=|@import|https?://(?!www\.w3\.org/2000/svg)""", text)


def test_mermaid():
    assert MyFlow().to_mermaid() == MyFlow.to_mermaid() == FlowPlot(MyFlow).to_mermaid()
    assert (
        MyFlow.to_mermaid()
        == """\
flowchart LR
    m0(("init"))
    m1(["process"])
    m2{"decide"}
    m3(["handle_a"])
    m4(["handle_b"])
    m0 -->|"start"| m1
    m1 -->|"processed"| m2
    m2 -->|"path_a"| m3
    m2 -->|"path_b"| m4
    classDef start fill:#dff5e7,stroke:#1f9d55,color:#1d2330
    classDef listener fill:#efe7fd,stroke:#7c3aed,color:#1d2330
    classDef router fill:#e0eafc,stroke:#2563eb,color:#1d2330
    classDef crew stroke-dasharray:6 4
    class m0 start
    class m1,m3,m4 listener
    class m2 router
    class m4 crew
    linkStyle 0,1 stroke:#7c3aed
    linkStyle 2,3 stroke:#15803d
"""
    )
    assert "m2 -.-> m4" in LoopFlow.to_mermaid()
    assert "-.->|" in LoopFlow.to_mermaid()


def test_mermaid_is_escaped():
    lines = Nasty.to_mermaid().splitlines()
    assert '    m2(["結果"])' in lines
    way = next(line for line in lines if line.startswith("    m1 --"))
    assert way == (
        '    m1 -->|"#60;#47;script#62;#60;script#62;alert#40;1#41;#60;#47;script#62;#60;b onclick#61;#39;x#39;#62;#38;amp'
        '#59;#34;#36;#123;title#125; #124; #93;#93; --#62; x #124; größer"| m2'
    )


def test_a_notebook_shows_the_drawing():
    shown = MyFlow()._repr_html_()  # pyright: ignore[reportPrivateUsage]
    page = Elements(shown)
    assert "svg" in [tag for tag, _ in page.found]
    assert "script" not in [tag for tag, _ in page.found]
    assert "handle_b" in page.texts


def test_a_compiled_flow_shows_the_same_and_asks_no_server():
    bundle = MyFlow().compile()._repr_mimebundle_()  # pyright: ignore[reportPrivateUsage]
    assert sorted(bundle) == ["text/html", "text/markdown", "text/plain"]
    assert bundle["text/html"] == MyFlow()._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert bundle["text/markdown"] == f"```mermaid\n{MyFlow.to_mermaid()}```\n"
