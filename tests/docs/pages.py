"""The documentation pages as programs: the python blocks of a page form one program."""

import os
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import processes

__all__ = ["PAGES", "ROOT", "Block", "blocks", "environment", "program", "run"]

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^```(\w*)\s*$")
_MARK = "\x1e"


@dataclass(frozen=True)
class Block:
    """A python block of a page."""

    line: int
    """Where it begins, from 1."""

    code: str
    printed: str | None = None
    """The text or mermaid block that follows it, which is its expected output; None without one."""


def blocks(page: str) -> list[Block]:
    """The python blocks of a page."""
    found: list[Block] = []
    language, start, stored, since = "", 0, list[str](), 0
    inside = False
    for number, line in enumerate(page.splitlines(), 1):
        fence = _FENCE.match(line)
        if fence is None:
            if inside:
                stored.append(line)
            elif line.strip():
                since = 0  # words between: a text block that follows speaks of something else
            continue
        if not inside:
            inside, language, start, stored = True, fence[1], number + 1, []
            continue
        inside = False
        text = "\n".join(stored)
        if language in {"text", "mermaid"} and since:
            found[-1] = replace(found[-1], printed=text)
        since = number if language == "python" else 0
        if language == "python":
            found.append(Block(start, text))
    return found


def program(page: Path) -> tuple[str, list[Block]]:
    """Return the program of a page, with the line numbers of the page, and its blocks."""
    found = blocks(page.read_text("utf-8"))
    lines: list[str] = []
    for block in found:
        lines += [""] * (block.line - 1 - len(lines))
        lines += [*block.code.splitlines(), f"print({_MARK!r}, flush=True)"]
    return "\n".join(lines) + "\n", found


def environment(storage: Path, **more: str) -> dict[str, str]:
    """The environment of a program that has nothing but this repository and a storage folder of its own."""
    stored = {
        name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "LANGSMITH_", "MODEL"))
    }
    path = os.pathsep.join([str(ROOT), str(ROOT / "compat")])
    own = {"PYTHONPATH": path, "CREWGRAPH_STORAGE_DIR": str(storage), "LANGSMITH_TRACING": "false"}
    warnings = f"error,{processes.KNOWN_WARNING},ignore:'upload_runs' parameter is in beta.:UserWarning"  # of langsmith
    return {**stored, **own, "PYTHONWARNINGS": warnings, "PYTHONIOENCODING": "utf-8", **more}


def run(page: Path, folder: Path, **more: str) -> list[tuple[Block, str]]:
    """Run a page in a folder: each block with what it printed."""
    source, found = program(page)
    script = folder / f"page_{page.stem}.py"  # not the name of a package it imports
    script.write_text(source, "utf-8")
    done = processes.run(
        [sys.executable, str(script)],
        cwd=folder,
        env=environment(folder / "storage", **more),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, f"{page.name} (lines as on the page):\n{done.stdout}\n{done.stderr}"
    return list(zip(found, done.stdout.split(f"{_MARK}\n"), strict=False))
