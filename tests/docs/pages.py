"""The documentation pages as programs: what stands on a page is done from top to bottom, in a folder of its own.

- A `python` block is a part of the page's program; a `text` or `mermaid` block right behind one is what that one prints.
- A block with `title="NAME"` is that file: it is written, or, if an earlier block made it, this is what is in it.
- A `console` block is a shell: `$ ` begins a command, the other lines are what it prints.

Everything else (`bash`, `yaml`, ...) is only shown.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path

import processes

__all__ = ["PAGES", "ROOT", "Block", "blocks", "environment", "program", "run", "says"]

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r'^```([\w-]*)(?: title="([^"]+)")?\s*$')
_MARK = "\x1e"


@dataclass(frozen=True)
class Block:
    """A block of a page that does something."""

    line: int
    """Where it begins, from 1."""

    code: str
    printed: str | None = None
    """What it has to print; None for anything."""


def blocks(page: str) -> list[Block]:
    """The blocks of a page that do something, as Python."""
    found: list[Block] = []
    language, title, start, stored, since = "", "", 0, list[str](), False
    inside = False
    for number, line in enumerate(page.splitlines(), 1):
        fence = _FENCE.match(line)
        if fence is None:
            if inside:
                stored.append(line)
            elif line.strip():
                since = False  # words between: a text block that follows speaks of something else
            continue
        if not inside:
            inside, language, title, start, stored = True, fence[1], fence[2], number + 1, []
            continue
        inside, text = False, "\n".join(stored)
        if title:
            found.append(Block(start, f"_page.show_file({title!r}, {text + chr(10)!r})"))
        elif language == "console":
            printed = "".join(shown for _, shown in _commands(text))
            found.append(Block(start, f"_page.run_commands({text!r})", printed or None))
        elif language == "python":
            found.append(Block(start, text))
        elif language in {"text", "mermaid"} and since:
            found[-1] = replace(found[-1], printed=text)
        since = language == "python" and not title
    return found


def _commands(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with what is shown of its output."""
    parts = re.split(r"^\$ ((?:.*\\\n)*.*)\n?", text, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def show_file(name: str, text: str) -> None:
    """Write a file of a page; if there is one already, raise an AssertionError if it is another one."""
    file = Path(name)
    if file.exists():
        assert says(text, file.read_text("utf-8")), f"{name} is\n{file.read_text('utf-8')}"
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        file.write_text(text, "utf-8")


def run_commands(text: str, folder: list[str] = [""]) -> None:  # noqa: B006 - a `cd` holds for later blocks
    """Run the commands of a console block in bash, and print what they print; one that shows nothing must succeed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    variables = {**os.environ, "PATH": path, "PYTHONWARNINGS": "ignore", "COLUMNS": "84", "NO_COLOR": "1"}
    for command, shown in _commands(text):
        shell = ["bash", "-c", f'{command}\nstatus=$?; printf "{_MARK}%s" "$PWD"; exit $status']
        done = subprocess.run(
            shell, cwd=folder[0] or None, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        printed, _, folder[0] = done.stdout.rpartition(_MARK)
        assert shown or not done.returncode, f"{command}: exit status {done.returncode}\n{printed}"
        print(printed, flush=True)


def says(shown: str, printed: str) -> bool:
    """Whether a page shows what is printed; `...` on the page stands for anything, and lines may break elsewhere."""
    return OutputChecker().check_output(f"{shown}\n", f"{printed}\n", ELLIPSIS | NORMALIZE_WHITESPACE)


def program(page: Path) -> tuple[str, list[Block]]:
    """Return the program of a page, with the line numbers of the page, and its blocks."""
    found = blocks(page.read_text("utf-8"))
    tests = str(ROOT / "tests")
    lines = [f"__import__('sys').path.append({tests!r}); import docs.pages as _page; __import__('sys').path.pop()"]
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
    variables = environment(folder / "storage", **more)
    variables["PYTHONPATH"] += f"{os.pathsep}{folder / 'src'}"  # where a page puts a package
    done = processes.run(
        [sys.executable, str(script)],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, f"{page.name} (lines as on the page):\n{done.stdout}\n{done.stderr}"
    return list(zip(found, done.stdout.split(f"{_MARK}\n"), strict=False))
