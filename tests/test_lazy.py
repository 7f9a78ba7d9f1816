"""Packages whose names are imported on first use, and references that are imported where they are needed."""

import subprocess
import sys
from fractions import Fraction
from typing import Any

import pytest

from crewgraph.events import late
from crewgraph.lazy import Lazy, loaded

_IMPORT = """
import gc, sys
{before}
import crewgraph
crew = crewgraph.Crew
young = [*gc.get_objects(generation=0), *gc.get_objects(generation=1)]
print(any(one is crew for one in young), gc.get_freeze_count() > 1000, gc.isenabled())
"""


@pytest.mark.parametrize(
    ("before", "seen"),
    [
        ("", "False False True"),
        ("gc.freeze()", "True True True"),  # a program's own frozen objects stay frozen
        ("gc.disable()", "True False False"),
    ],
    ids=["as usual", "frozen", "off"],
)
def test_the_next_garbage_collection_does_not_look_at_what_an_import_made(before: str, seen: str):
    run = subprocess.run(
        [sys.executable, "-c", _IMPORT.format(before=before)], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == seen


def test_a_reference_is_what_it_refers_to_once_it_is_called_or_loaded():
    fraction = Lazy("fractions", "Fraction")
    assert loaded(fraction) is Fraction
    assert fraction(1, 2) == Fraction(1, 2)
    assert loaded(int) is int


def test_a_reference_to_an_event_imports_its_module_when_it_is_made():
    program = """
import sys
from crewgraph.events import late
reference = late.TaskStartedEvent
assert late.TaskStartedEvent is reference
assert "crewgraph.events.task" not in sys.modules
from crewgraph.lazy import loaded
from crewgraph.events import TaskStartedEvent
assert loaded(reference) is TaskStartedEvent
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_is_no_event_is_reported_by_name():
    names: Any = late
    with pytest.raises(AttributeError, match="has no attribute `Nothing`"):
        loaded(names.Nothing)
