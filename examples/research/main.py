"""A crew that answers a question from a folder of sources, and cites them: `python main.py ["QUESTION"]`.

An analyst searches and reads the files in sources/; a guardrail holds each finding to the source that it cites. An editor
writes the brief. With MODEL or OPENAI_API_KEY set, that model does the work; otherwise a scripted stand-in does.
"""

import os
import re
import sys
from pathlib import Path

from stand_in import reply

from crewgraph import LLM, Agent, BaseLLM, Crew, ScriptedLLM, Task, TaskOutput
from crewgraph.tools import tool

SOURCES = {path.stem: path.read_text("utf-8") for path in sorted((Path(__file__).parent / "sources").glob("*.md"))}
QUESTION = "Should we replace our 24 diesel vans with electric ones before the zero-emission zone starts?"


@tool
def search_sources(query: str) -> str:
    """Search the sources; returns the names and titles of those that match best.

    Args:
        query: A few words.
    """
    words = set(re.findall(r"\w{3,}", query.lower()))
    hits = {name: len(words & set(re.findall(r"\w{3,}", text.lower()))) for name, text in SOURCES.items()}
    best = sorted((name for name, count in hits.items() if count), key=lambda name: -hits[name])[:3]
    return "\n".join(f"{name}: {_title(name)}" for name in best) or "Nothing matches."


@tool
def read_source(source: str) -> str:
    """Read a source.

    Args:
        source: Its name, as `search_sources` returns it.
    """
    return SOURCES.get(source, f"There is no source {source!r}; there are {', '.join(SOURCES)}.")


def findings_hold(output: TaskOutput) -> tuple[bool, str]:
    """Accept findings if each cites a source, and if the source has every number of the finding."""
    wrong: list[str] = []
    for line in output.raw.splitlines():
        if not line.startswith("- "):
            continue
        cited = re.findall(r"\[([\w-]+)\]", line)
        text = "".join(SOURCES.get(name, "") for name in cited)
        numbers = re.findall(r"\d[\d.,:]*\d|\d", re.sub(r"\[[\w-]+\]", "", line))
        missing = [number for number in numbers if number not in text]
        if not text:
            wrong.append(f"no known source is cited in: {line}")
        elif missing:
            wrong.append(f"{', '.join(missing)} is not in {', '.join(cited)}: {line}")
    return (False, "\n".join(wrong)) if wrong else (True, output.raw)


def crew_for(llm: BaseLLM) -> Crew:
    """A researcher with the tools, and an editor without."""
    researcher = Agent(
        role="Research analyst",
        goal="Establish what the sources say about the question, and nothing beyond",
        backstory="You read a source before you cite it, and copy figures digit by digit.",
        tools=[search_sources, read_source],
        llm=llm,
    )
    editor = Agent(
        role="Editor",
        goal="Give the board of Halden Grocers a decision they can take in two minutes",
        backstory="You put the recommendation first, and say what is not known.",
        llm=llm,
    )
    findings = Task(
        name="findings",
        description="Collect what the sources say that bears on the question: {question}",
        expected_output="A list. Each line begins with `- `, holds one finding and ends with its source as [name]",
        agent=researcher,
        guardrail=findings_hold,
    )
    brief = Task(
        name="brief",
        description="Write a brief of at most 200 words that answers the question: {question}",
        expected_output="Paragraphs in Markdown, with the sources as [name]",
        agent=editor,
        context=[findings],
    )
    return Crew(name="research", agents=[researcher, editor], tasks=[findings, brief])


def model() -> BaseLLM:
    """A real model if one is configured."""
    if os.environ.get("MODEL") or os.environ.get("OPENAI_API_KEY"):
        return LLM(os.environ.get("MODEL") or "openai/gpt-4o-mini")
    if len(sys.argv) > 1:
        sys.exit("The stand-in knows one question. Set MODEL or OPENAI_API_KEY to ask your own.")
    return ScriptedLLM(reply, native_tools=True)


def _title(name: str) -> str:
    return SOURCES[name].splitlines()[0].removeprefix("# ")


def main() -> None:
    """Answer the question, and list the sources that are cited."""
    crew = crew_for(model())
    result = crew.kickoff({"question": sys.argv[1] if len(sys.argv) > 1 else QUESTION})
    print(f"{result.raw}\n\nSources")
    for name in sorted(set(re.findall(r"\[([\w-]+)\]", result.raw)) & set(SOURCES)):
        print(f"- [{name}] {_title(name)}. {SOURCES[name].splitlines()[2]}")
    findings = crew.tasks[0]
    print(f"\n{findings.used_tools} tool calls, findings sent back by the guardrail: {findings.retry_count}")


if __name__ == "__main__":
    main()
