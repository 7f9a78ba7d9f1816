"""Shared functions of the tests of rewriting."""

import json
from pathlib import Path
from typing import Any

from crewgraph_compat.moving.rewriting.program import rewrite_program

__all__ = ["PROJECTS", "notebook", "notes_on", "put", "rewritten"]

PROJECTS = Path(__file__).parent / "projects"


def rewritten(text: str) -> str:
    """Return a rewritten program, and check that rewriting it again changes nothing."""
    done, _ = rewrite_program(text.encode(), "program.py")
    again, _ = rewrite_program(done, "program.py")
    assert again == done
    return done.decode()


def notes_on(text: str) -> list[tuple[int, str]]:
    """Return the notes on a rewritten program: their lines and texts."""
    return [(note.line, note.text) for note in rewrite_program(text.encode(), "program.py")[1]]


def put(folder: Path, **files: str) -> Path:
    """Files in a folder, by name; `__` in a name is a dot."""
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, "utf-8")
    return folder


def notebook(*cells: str) -> str:
    """A notebook with code cells, as Jupyter writes it."""
    made: list[dict[str, Any]] = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": cell.splitlines(True)}
        for cell in cells
    ]
    return (
        json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False)
        + "\n"
    )
