"""Files in runs: shown to models that accept them, read with a tool by others, unchanged in resumed runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from combinations import CREW_MODES
from modes import Mode
from servers.openai_api import OpenAIServer, Script

from crewgraph import LLM, Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.contrib.files.file import File, FileChanged, FileTooLargeError, ImageFile
from crewgraph.events import LLMCallStartedEvent, crewai_event_bus
from crewgraph.llm.capabilities import supports_images, supports_pdfs

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 20
IN_BASE64 = "data:image/png;base64,iVBORw0KGgoAAAAAAAAAAAAAAAAAAAAAAAAAAA=="

Serve = Callable[[Script | None], OpenAIServer]


class Seeing(ScriptedLLM):
    """A scripted model that accepts images."""

    def supports_multimodal(self) -> bool:
        return True


@pytest.fixture(params=CREW_MODES)
def mode(request: pytest.FixtureRequest) -> Mode:
    return Mode(request.param)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chart.png").write_bytes(PNG)
    (tmp_path / "notes.txt").write_text("high water at 9:40")
    return tmp_path


def crew_of(llm: Any, **fields: Any) -> Crew:
    clerk = Agent(role="Clerk", goal="Know", backstory="Careful.", llm=llm)
    task = Task(name="tide", description="The tide of {day}?", expected_output="A time", agent=clerk, **fields)
    return Crew(agents=[clerk], tasks=[task])


def asked(llm: ScriptedLLM, request: int = 0) -> Any:
    return llm.requests[request].messages[-1]["content"]


def test_a_model_that_sees_is_shown_images_and_short_texts(mode: Mode):
    llm = Seeing(["9:40"])
    files = {"chart": ImageFile(source="chart.png"), "notes": "notes.txt"}
    crew = crew_of(llm)
    result = mode.kickoff(crew, {"day": "Monday"}, input_files=files)
    text, image, note = asked(llm)
    assert result.raw == "9:40"
    assert "chart (chart.png, image/png), notes (notes.txt, text/plain)" in text["text"]
    assert image == {"type": "image_url", "image_url": {"url": IN_BASE64}}
    assert note == {"type": "text", "text": "notes:\nhigh water at 9:40"}
    assert llm.requests[0].tools == []
    assert crew.inputs == {"day": "Monday"}


def test_a_model_that_does_not_see_reads_with_a_tool(mode: Mode):
    llm = ScriptedLLM(
        [
            ToolUse("read_file", {"file_name": "notes"}), ToolUse("read_file", {"file_name": "chart"}),
            ToolUse("read_file", {"file_name": "other"}), "Final Answer: 9:40",
        ]
    )  # fmt: skip
    mode.kickoff(crew_of(llm), {"day": "Monday"}, input_files={"chart": "chart.png", "notes": b"low water at 3"})
    said = llm.requests[-1].text
    assert "low water at 3" in said
    assert "chart.png (image/png, 28 bytes)" in said
    assert "There is no file `other`. Available files: chart, notes" in said


def test_files_of_a_task_are_that_tasks_alone(mode: Mode):
    llm = Seeing(["one", "two"])
    crew = crew_of(llm, input_files={"chart": "chart.png"})
    other = Task(name="next", description="And now?", expected_output="x", agent=crew.agents[0])
    crew.tasks.append(other)
    mode.kickoff(crew, {"day": "Monday"})
    assert [part["type"] for part in asked(llm, 0)] == ["text", "image_url"]
    assert isinstance(asked(llm, 1), str)


def test_a_coworker_has_the_files(mode: Mode):
    llm = Seeing(
        [
            ToolUse("Ask question to coworker", {"coworker": "Reader", "question": "When?", "context": "-"}),
            "Final Answer: at 9:40",
            "Final Answer: 9:40",
        ]
    )
    clerk = Agent(role="Clerk", goal="Know", backstory="Careful.", llm=llm, allow_delegation=True)
    reader = Agent(role="Reader", goal="Read", backstory="Careful.", llm=llm)
    task = Task(name="tide", description="The tide?", expected_output="A time", agent=clerk)
    mode.kickoff(Crew(agents=[clerk, reader], tasks=[task]), input_files={"chart": "chart.png"})
    assert "image_url" in str(asked(llm, 1))


def test_a_resumed_run_reads_nothing_again_and_sees_the_same_file(mode: Mode, folder: Path):
    def script() -> list[Any]:
        return [ConnectionError("away")] * 3

    llm = Seeing(script())
    crew = crew_of(llm)
    with pytest.raises(ConnectionError):
        mode.kickoff(crew, {"day": "Monday"}, input_files={"chart": "chart.png"}, thread_id="one")
    (folder / "chart.png").write_bytes(PNG + b"more")
    crew.agents[0].llm = Seeing(["never asked"] * 3)
    with pytest.raises(FileChanged, match="has changed since the run started"):
        mode.run(lambda: crew.resume("one"), lambda: crew.aresume("one"))
    (folder / "chart.png").write_bytes(PNG)
    crew.agents[0].llm = again = Seeing(["9:40"])
    assert mode.run(lambda: crew.resume("one"), lambda: crew.aresume("one")).raw == "9:40"
    assert asked(again)[1]["image_url"]["url"] == IN_BASE64


def test_events_report_files_without_their_content():
    messages: list[Any] = []
    with crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(LLMCallStartedEvent)
        def received(source: Any, event: LLMCallStartedEvent) -> None:
            messages.append(event.messages)

        crew_of(Seeing(["9:40"])).kickoff({"day": "Monday"}, {"chart": "chart.png"})
        crewai_event_bus.flush()
    assert IN_BASE64 not in str(messages)
    assert "chart.png" in str(messages)


def test_a_file_that_is_too_large_is_read_with_the_tool_or_refused(folder: Path):
    (folder / "big.png").write_bytes(PNG + b"\x00" * 5_000_000)
    llm = Seeing(["9:40"])
    crew_of(llm).kickoff({"day": "Monday"}, {"chart": "big.png"})
    assert [tool["function"]["name"] for tool in llm.requests[0].tools] in (["read_file"], [])
    assert "`read_file`" in llm.requests[0].text
    with pytest.raises(FileTooLargeError, match="a model can be shown 5000000"):
        crew_of(Seeing(["9:40"])).kickoff({"day": "Monday"}, {"chart": File(source="big.png", mode="strict")})


def test_images_and_pdfs_go_over_the_wire(serve: Serve, mode: Mode, folder: Path):
    server = serve(["9:40"])
    (folder / "report.pdf").write_bytes(b"%PDF-1.4 nothing")
    llm = LLM("openai/gpt-4o", base_url=server.url, api_key="secret", max_retries=0)
    files = {"chart": "chart.png", "report": "report.pdf", "far": "https://example.org/a.png"}
    mode.kickoff(crew_of(llm), {"day": "Monday"}, input_files=files)
    parts = server.requests[0].body["messages"][-1]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "file", "image_url"]
    assert parts[1]["image_url"]["url"] == IN_BASE64
    assert parts[2]["file"]["filename"] == "report.pdf"
    assert parts[3]["image_url"]["url"] == "https://example.org/a.png"


@pytest.mark.parametrize(
    ("model", "sees", "reads"),
    [
        ("gpt-4o-mini", True, True),
        ("gpt-4", False, False),
        ("gpt-3.5-turbo", False, False),
        ("o3-mini", False, False),
        ("gpt-4o-audio-preview", False, False),
        ("claude-3-haiku-20240307", True, False),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", True, True),
        ("gemini-2.5-flash", True, True),
        ("llama3.2-vision", True, False),
        ("qwen2.5-vl-7b-instruct", True, False),
        ("mistral-large-latest", False, False),
    ],
)
def test_what_a_model_sees_is_reported_by_its_name(model: str, sees: bool, reads: bool):
    assert (supports_images(model), supports_pdfs(model)) == (sees, reads)
