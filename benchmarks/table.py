"""Results as Markdown, and their place in the README."""

import importlib.metadata
import os
import platform
from collections.abc import Sequence
from pathlib import Path

import crewgraph
from benchmarks.measure import Contender, Measure
from benchmarks.rounds import Results, cell

__all__ = ["README", "machine", "put", "tabled"]

README = Path(__file__).with_name("README.md")

_PACKAGES = ("langgraph", "langgraph-checkpoint-sqlite", "langchain-core", "langchain-openai", "faiss-cpu", "numpy")


def tabled(measure: Measure, contenders: Sequence[Contender], results: Results, about: str) -> str:
    """A section: a table for each figure."""
    parts = [f"### {measure.title}", f"Goal: {measure.goal}"]
    baseline = contenders[0].name
    for figure, unit in measure.figures.items():
        head = [unit, *measure.cases]
        rows = [
            [one.name, *(cell(results, one.name, baseline, case, figure) for case in measure.cases.values())]
            for one in contenders
        ]
        lines = [head, ["---", *["---:"] * len(measure.cases)], *rows]
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    return "\n\n".join([*parts, about])


def machine(rounds: int, peers: Sequence[str]) -> str:
    """Return what was measured, on which machine, and how often.

    Args:
        rounds: how often.
        peers: names and versions of packages in other environments.
    """
    ours = [f"{name} {importlib.metadata.version(name)}" for name in _PACKAGES]
    return (
        f"*{rounds} rounds; {os.cpu_count()} cores of {platform.machine()}, {platform.system()}, "
        f"Python {platform.python_version()}; {', '.join([f'crewgraph {crewgraph.__version__}', *ours, *peers])}.*"
    )


def put(name: str, section: str) -> None:
    """Replace a section of the README, between its markers.

    Raises:
        ValueError: the README has no such markers.
    """
    text = README.read_text("utf-8")
    opening, closing = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
    before, found, rest = text.partition(opening)
    _, also, after = rest.partition(closing)
    if not (found and also):
        raise ValueError(f"{README.name} has no place for `{name}`: {opening.strip()} ... {closing.strip()}")
    README.write_text(f"{before}{opening}{section}{closing}{after}", "utf-8")
