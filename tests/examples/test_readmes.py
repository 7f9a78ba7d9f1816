"""Each example does what its README says, without a key and in a copy of its folder."""

import doctest
import re
from pathlib import Path

import pytest
from docs.pages import ROOT

from .run_example import EXAMPLES, NAMES, copy_example, run_command, runnable_blocks

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
SERVED = {"fastapi_streaming", "workers"}
"""Examples with a server; their own tests start it, and run the README."""


@pytest.mark.parametrize("name", sorted({*NAMES} - SERVED))
def test_the_commands_of_a_readme_print_what_it_says(name: str, tmp_path: Path):
    blocks = runnable_blocks((EXAMPLES / name / "README.md").read_text("utf-8"))
    assert blocks != []
    folder = copy_example(name, tmp_path)
    for commands, said in blocks:
        printed = "".join(run_command(folder, *command) for command in commands)
        assert doctest.OutputChecker().check_output(said, printed, FLAGS), f"{commands} prints\n{printed}"


def test_the_index_names_every_example_and_the_demonstration():
    index = (EXAMPLES / "README.md").read_text("utf-8")
    named = re.findall(r"^\| \[(\w+(?:\.py)?)\]\((\S+)\)", index, re.MULTILINE)
    assert sorted(named) == sorted([("demo.py", "demo.py"), *((name, name) for name in NAMES)])


def test_programs_stand_in_folders():
    assert [path.name for path in EXAMPLES.glob("*.py")] == ["demo.py"]


def test_links_of_the_readmes_lead_somewhere():
    pages = [EXAMPLES / "README.md", *(EXAMPLES / name / "README.md" for name in NAMES)]
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]
    assert broken == []
