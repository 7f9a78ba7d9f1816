"""References that import what they refer to on first use."""

import copy
import inspect
import re
import subprocess
import sys
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import crewgraph
from crewgraph.lazy import lazy, lazy_module, loaded


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "written_for_lazy.py").write_text(
        """
import asyncio

class Thing:
    limit = 3

def double(number: int) -> int:
    return 2 * number

def count():
    yield from (1, 2)

async def later(number):
    await asyncio.sleep(0)
    return number

async def pieces():
    yield "a"
""",
        "utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "written_for_lazy", raising=False)
    return "written_for_lazy"


def test_nothing_is_imported_before_the_first_use(module: str):
    double, whole = lazy(f"{module}:double"), lazy_module(module)
    assert repr(double) == "<lazy written_for_lazy:double>"
    assert double.__name__ == "double"
    assert not hasattr(whole, "__path__")
    assert module not in sys.modules
    assert double(4) == 8
    assert module in sys.modules
    assert whole.Thing.limit == 3


async def _all_pieces(module: str) -> list[str]:
    return [piece async for piece in lazy(f"{module}:pieces")()]


async def _later(module: str) -> int:
    return await lazy(f"{module}:later")(5)


def test_coroutines_and_generators_are_what_the_functions_give(module: str):
    import asyncio

    assert list(lazy(f"{module}:count")()) == [1, 2]
    assert asyncio.run(_later(module)) == 5
    assert asyncio.run(_all_pieces(module)) == ["a"]


def test_a_class_is_made_asked_for_and_read(module: str):
    thing = lazy(f"{module}:Thing")
    made = thing()
    assert isinstance(made, thing)
    assert not isinstance(3, thing)
    assert issubclass(type(made), thing)
    assert thing.limit == 3


def test_asking_for_an_instance_of_a_class_imports_nothing(module: str):
    thing = lazy(f"{module}:Thing")
    assert not isinstance(object(), thing)
    assert module not in sys.modules


def test_a_class_whose_module_is_not_loaded_has_no_subclasses(module: str):
    assert not issubclass(int, lazy(f"{module}:Thing"))
    assert module not in sys.modules


def test_loading_a_reference_returns_what_it_refers_to(module: str):
    thing = lazy(f"{module}:Thing")
    assert loaded(thing) is import_module(module).Thing
    assert loaded(int) is int


def test_references_to_classes_name_the_module_that_defines_them():
    # Else an instance may exist while that module is not loaded, and `isinstance` says no.
    source = Path(crewgraph.__file__).parent
    references = {
        match
        for file in source.rglob("*.py")
        for match in re.findall(r'lazy\("([\w.]+):(\w+)"\)', file.read_text("utf-8"))
    }
    assert len(references) > 100
    for module, name in sorted(references):
        target = getattr(import_module(module), name)
        # A package is loaded with its modules.
        assert not isinstance(target, type) or f"{target.__module__}.".startswith(f"{module}."), name


_IMPORT = """
import gc, sys
import crewgraph.lazy
{before}
crew = crewgraph.lazy.lazy("crewgraph.crew:Crew").__wrapped__
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


def test_the_signature_is_that_of_the_function(module: str):
    assert str(inspect.signature(lazy(f"{module}:double"))) == "(number: int) -> int"


def test_a_patch_of_the_module_is_seen(module: str, monkeypatch: pytest.MonkeyPatch):
    double = lazy(f"{module}:double")
    assert double(1) == 2
    with monkeypatch.context() as patch:
        patch.setattr(f"{module}.double", lambda number: -number)  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType]
        assert double(1) == -1
    assert double(1) == 2


def test_a_reference_is_copied_as_what_it_is():
    fraction = lazy("fractions:Fraction")
    kind, arguments = fraction.__reduce__()
    assert kind(*arguments)(1, 2) == copy.deepcopy(fraction)(1, 2) == Fraction(1, 2)


def test_what_is_not_there_is_reported_by_name():
    with pytest.raises(
        AttributeError, match='`lazy\\("fractions:Faction"\\)` refers to nothing: module `fractions` has no'
    ):
        lazy("fractions:Faction")()
    with pytest.raises(ModuleNotFoundError, match="No module named 'crewgraph.nowhere'"):
        lazy("crewgraph.nowhere:x")()
    with pytest.raises(ValueError, match='`fractions` is not a lazy reference; write "package.module:name"'):
        lazy("fractions")


def test_a_lazy_module_reads_as_the_module():
    fractions = lazy_module("fractions")
    assert fractions.Fraction is Fraction
    assert isinstance(fractions._target(), ModuleType)
