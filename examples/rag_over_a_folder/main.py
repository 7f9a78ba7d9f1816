"""Answers questions from a folder of files: `python main.py "QUESTION" ...`.

The files in handbook/ are cut into passages and kept with their vectors; each question finds the nearest, which stand in the
agent's prompt. With MODEL or OPENAI_API_KEY set, that model does the work; otherwise a scripted stand-in does.
"""

import os
import sys
from pathlib import Path

from stand_in import reply

from crewgraph import LLM, Agent, BaseLLM, Crew, Knowledge, ScriptedLLM, Task
from crewgraph.knowledge import (
    BaseKnowledgeSource,
    CSVKnowledgeSource,
    KnowledgeConfig,
    MarkdownKnowledgeSource,
    PDFKnowledgeSource,
    TextFileKnowledgeSource,
)

HANDBOOK = Path(__file__).parent / "handbook"
KINDS = {
    ".csv": CSVKnowledgeSource,
    ".md": MarkdownKnowledgeSource,
    ".pdf": PDFKnowledgeSource,  # pip install "crewgraph[pdf]"
    ".txt": TextFileKnowledgeSource,
}
QUESTIONS = [
    "What is my daily allowance in Denmark on the day I arrive?",
    "My laptop was stolen on the train. What do I do first?",
    "How long may I rest after an alert at night?",
    "What is my daily allowance in Japan?",
]
BEST = KnowledgeConfig(results_limit=2, score_threshold=0.5)


def sources(folder: Path) -> list[BaseKnowledgeSource]:
    """All files of a folder that can be read, a source for each kind of file."""
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.suffix in KINDS)
    return [
        kind(file_paths=[name for name in files if name.endswith(ending)], root=folder)
        for ending, kind in KINDS.items()
        if any(name.endswith(ending) for name in files)
    ]


def crew_for(llm: BaseLLM) -> tuple[Crew, Agent]:
    """One agent who knows the handbook."""
    colleague = Agent(
        role="People partner",
        goal="Answer questions of colleagues by the handbook",
        backstory="You answer in at most three sentences, and say so if the handbook does not tell.",
        llm=llm,
        knowledge_sources=sources(HANDBOOK),
        knowledge_config=BEST,
    )
    answer = Task(name="answer", description="{question}", expected_output="An answer by the handbook", agent=colleague)
    return Crew(name="handbook", agents=[colleague], tasks=[answer]), colleague


def model() -> BaseLLM:
    """A real model if one is configured."""
    if os.environ.get("MODEL") or os.environ.get("OPENAI_API_KEY"):
        return LLM(os.environ.get("MODEL") or "openai/gpt-4o-mini")
    return ScriptedLLM(reply)


def main() -> None:
    """Answer the questions, and show which files the answers are from."""
    crew, colleague = crew_for(model())
    for question in sys.argv[1:] or QUESTIONS:
        result = crew.kickoff({"question": question})
        knowledge, query = colleague.knowledge, colleague.knowledge_search_query or question
        assert isinstance(knowledge, Knowledge)
        passages = knowledge.query(query, BEST.results_limit, BEST.score_threshold)
        found = [passage["metadata"] for passage in passages]
        print(f"Q: {question}\nA: {result.raw}")
        print(
            "   passages:",
            ", ".join(" > ".join(filter(None, [one["source"], one.get("heading")])) for one in found),
            "\n",
        )


if __name__ == "__main__":
    main()
