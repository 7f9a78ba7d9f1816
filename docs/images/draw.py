"""Draw the pictures of the README: `PYTHONPATH=tests python docs/images/draw.py`.

They show runs of `digest.py`, for whose model a server on loopback gives recorded answers.
"""

import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from digest import digest
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.schemas import Run
from rich.console import Console, RenderableType
from rich.text import Text
from rich.tree import Tree
from servers.openai_api import Answer, OpenAIServer, call, text

HERE = Path(__file__).parent
WEB_FONTS = re.compile(r"@font-face \{.*?\n    \}\n", re.DOTALL)
STYLES = {"chain": "cyan", "llm": "magenta", "tool": "green"}


def answers() -> list[Answer]:
    """Return what the model answers in one run."""
    return [
        call("search_tickets", {"query": "most reported problems"}),
        text(
            "1. SSO login loop (42 tickets)\n2. CSV export times out (17 tickets)",
            usage={"prompt_tokens": 391, "completion_tokens": 24, "total_tokens": 415},
            delay=0.7,
        ),
        text(
            "SSO login loops lead this week with 42 tickets; CSV exports that time out follow with 17.",
            usage={"prompt_tokens": 236, "completion_tokens": 22, "total_tokens": 258},
            delay=0.5,
        ),
    ]


class Traces(BaseTracer):
    """A tracer that keeps the roots of the traces."""

    def __init__(self) -> None:
        super().__init__()
        self.roots: list[Run] = []

    def _persist_run(self, run: Run) -> None:
        self.roots.append(run)


def draw(name: str, title: str, content: RenderableType, width: int) -> None:
    """Write content as a picture of a terminal."""
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    console.print(content)
    picture = WEB_FONTS.sub("", console.export_svg(title=title, unique_id=name))
    (HERE / f"{name}.svg").write_text("\n".join(line.rstrip() for line in picture.splitlines()) + "\n", "utf-8")


def console_output() -> Text:
    """Return what the program prints."""
    done = subprocess.run(
        [sys.executable, str(HERE / "digest.py")],
        env={**os.environ, "FORCE_COLOR": "1", "COLUMNS": "96"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Text.from_ansi(done.stdout.rstrip())


def trace() -> Tree:
    """Return the tree of a traced run."""
    graph, tracer = digest().compile(checkpointer=False), Traces()
    graph.invoke({"product": "Acme Desk"})  # once without, so that no import is timed
    graph.invoke({"product": "Acme Desk"}, {"callbacks": [tracer]})
    tree = Tree("", hide_root=True)
    for root in tracer.roots:
        _add(tree, root)
    return tree


def _add(tree: Tree, run: Run) -> None:
    seconds = (run.end_time - run.start_time).total_seconds() if run.end_time else 0.0
    label = Text.assemble(
        (f"{run.run_type:<6}", STYLES.get(run.run_type, "white")), f" {run.name}  ", (f"{seconds:.2f} s", "dim")
    )
    branch = tree.add(label)
    for child in run.child_runs:
        _add(branch, child)


def with_model(content: Callable[[], RenderableType]) -> RenderableType:
    """Return content that needs the model."""
    with tempfile.TemporaryDirectory() as storage, OpenAIServer(answers() * 2) as server:
        os.environ |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.url, "CREWGRAPH_STORAGE_DIR": storage}
        return content()


if __name__ == "__main__":
    draw("console", "python digest.py", with_model(console_output), 96)
    draw("trace", "one run in LangSmith", with_model(trace), 60)
