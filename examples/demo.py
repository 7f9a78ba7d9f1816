"""A crew that looks at a real file: `make demo`, or `make demo FILE=path/to/text-or-csv`.

An analyst measures the file with a tool and gives its facts as a pydantic model; a writer turns them into a report,
which a guardrail accepts only if it names the right numbers. With OPENAI_API_KEY (and OPENAI_BASE_URL, if you like) a
real model does the work; without, a scripted one that only knows what the tool found.
"""

import csv
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from crewgraph import LLM, Agent, BaseLLM, Crew, ScriptedLLM, Task, TaskOutput, ToolUse
from crewgraph.runtime.runs.storage import DATABASE
from crewgraph.settings import storage_dir
from crewgraph.tools import tool

os.environ.setdefault("CREWGRAPH_STORAGE_DIR", tempfile.mkdtemp(prefix="crewgraph-demo-"))


class Facts(BaseModel):
    """What is in a file."""

    kind: str = Field(description="csv or text")
    lines: int = Field(description="lines, without a CSV header")
    words: int = Field(description="words")
    highlights: dict[str, float] = Field(description="sums of numeric columns, or counts of the most frequent words")


@tool
def measure_file(path: str) -> str:
    """Measure a text or CSV file: its lines, words, sums of numeric columns or most frequent words."""
    text = Path(path).read_text("utf-8")
    words = re.findall(r"\w+", text.lower())
    if path.endswith(".csv"):
        rows = list(csv.DictReader(text.splitlines()))
        sums = Counter[str]()
        for row in rows:
            for column, value in row.items():
                if value and re.fullmatch(r"-?\d+(\.\d+)?", value):
                    sums[column] += float(value)  # type: ignore[assignment]
        facts = Facts(
            kind="csv", lines=len(rows), words=len(words), highlights={k: round(float(v), 2) for k, v in sums.items()}
        )
    else:
        frequent = Counter(word for word in words if len(word) > 3).most_common(3)
        lines = len(text.splitlines())
        facts = Facts(kind="text", lines=lines, words=len(words), highlights={k: float(v) for k, v in frequent})
    return facts.model_dump_json()


def names_the_numbers(output: TaskOutput) -> tuple[bool, str]:
    """Accept a report only if it holds the number of lines and every highlight."""
    facts = Facts.model_validate_json(measure_file.run(path=FILE))
    missing = [str(facts.lines) if str(facts.lines) not in output.raw else ""]
    missing += [name for name in facts.highlights if name not in output.raw]
    missing = [one for one in missing if one]
    return (False, f"the report does not mention {', '.join(missing)}") if missing else (True, output.raw)


def scripted(messages: Sequence[dict[str, Any]]) -> str | ToolUse:
    """The embedded model: it knows nothing but what stands in the conversation."""
    said = "\n".join(str(message["content"]) for message in messages)
    found = re.findall(r"\{\"kind\".*\}", said)
    if "Measure the file" in said:
        return f"Final Answer: {found[-1]}" if found else ToolUse("measure_file", {"path": FILE})
    if "was rejected" not in said:
        return "Final Answer: It is an interesting file."
    facts = Facts.model_validate(json.loads(found[-1]))
    named = ", ".join(f"{name} {value:g}" for name, value in facts.highlights.items())
    return (
        f"Final Answer: A {facts.kind} file of {facts.lines} lines and {facts.words} words; what stands out: {named}."
    )


def model() -> BaseLLM:
    """The real model if a key is there, else the scripted one; says which."""
    if os.environ.get("OPENAI_API_KEY"):
        name = os.environ.get("OPENAI_MODEL_NAME", "gpt-4o-mini")
        print(f"Model: {name} at {os.environ.get('OPENAI_BASE_URL', 'OpenAI')}")
        return LLM(model=f"openai/{name}")
    print("Model: the embedded script (set OPENAI_API_KEY to let a real one work)")
    return ScriptedLLM(scripted)


def crew_for(llm: BaseLLM) -> Crew:
    """The two agents and their tasks."""
    analyst = Agent(
        role="Analyst",
        goal="Know exactly what is in {file}",
        backstory="You trust measurements only.",
        tools=[measure_file],
        llm=llm,
    )
    writer = Agent(role="Writer", goal="Tell what matters", backstory="You write short and exact.", llm=llm)
    facts = Task(
        name="facts",
        description="Measure the file {file} with your tool.",
        expected_output="The facts of the file",
        agent=analyst,
        output_pydantic=Facts,
    )
    report = Task(
        name="report",
        description="Write a report of two sentences about the file.",
        expected_output="A report that names the number of lines and every highlight with its number",
        agent=writer,
        guardrail=names_the_numbers,
    )
    return Crew(name="file report", agents=[analyst, writer], tasks=[facts, report], verbose=True)


def main() -> None:
    """Run the crew on the file and show what it made."""
    if not Path(FILE).is_file():
        sys.exit(f"There is no file {FILE!r}. Use it like: make demo FILE=path/to/text-or-csv")
    print(f"File: {FILE}")
    crew = crew_for(model())
    result = crew.kickoff({"file": FILE})
    facts = result.tasks_output[0].pydantic

    print("\nThe graph (Mermaid):\n" + crew.compile().get_graph().draw_mermaid())
    print(f"Facts:      {facts}")
    print(f"Report:     {result.raw}")
    print(f"Refusals:   {crew.tasks[1].retry_count}")
    print(f"Tokens:     {result.token_usage.total_tokens} in {result.token_usage.successful_requests} requests")
    print(f"Kept in:    {storage_dir() / DATABASE}")
    print(f"Thread:     {result.thread_id}   (after a crash: crew.resume({result.thread_id!r}))")


FILE = sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).parent / "data" / "sales.csv")

if __name__ == "__main__":
    main()
