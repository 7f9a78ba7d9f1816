"""Every `pip install` of a page is tried by `.ci/installations.py`, or is named there with a reason."""

import runpy
from pathlib import Path

CI = Path(__file__).parents[2] / ".ci"


def test_every_installation_that_a_page_names_is_tried():
    assert runpy.run_path(str(CI / "installations.py"))["unknown_commands"]() == []


def test_the_programs_that_are_run_are_there():
    installations = runpy.run_path(str(CI / "installations.py"))["INSTALLATIONS"]
    words = {word for one in installations.values() for command in one.run for word in command.split()}
    assert {word for word in words if word.endswith(".py") and "/" not in word} - {"ejected.py"} == {
        path.name for path in (CI / "programs").iterdir()
    }
