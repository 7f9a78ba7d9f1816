"""What tests of rewriting share."""

import json
from pathlib import Path
from typing import Any

from crewgraph_compat.moving.rewriting.program import rewrite_program

__all__ = ["PROJECTS", "notebook", "noted", "put", "rewritten"]

PROJECTS = Path(__file__).parent / "projects"


def rewritten(text: str) -> str:
    """A program as it is to be, which stays so."""
    done, _ = rewrite_program(text.encode(), "program.py")
    again, _ = rewrite_program(done, "program.py")
    assert again == done
    return done.decode()


def noted(text: str) -> list[tuple[int, str]]:
    """What people are told of a program: lines and words."""
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
