"""What the README shows of an example is what that prints; `tests/examples` runs them all."""

from pathlib import Path

from examples.run_example import copy_example, run_command

from docs.pages import ROOT


def test_what_the_readme_shows_of_the_killed_run_is_what_the_example_prints(tmp_path: Path):
    readme = (ROOT / "README.md").read_text("utf-8")
    assert run_command(copy_example("resume_after_kill", tmp_path), "python", "main.py") in readme


def test_the_pages_lead_to_the_index_of_the_examples():
    for page in ("README.md", "docs/index.md"):
        assert "examples/README.md)" in (ROOT / page).read_text("utf-8")
