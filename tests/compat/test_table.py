import importlib
from types import ModuleType

from crewgraph_compat.surface.absent import ABSENT, reason
from crewgraph_compat.surface.table import AREAS, FILES, TABLE
from crewgraph_compat.surface.table.rows import rows

ROWS = sorted({target for names in TABLE.values() for target in names.values()})


def test_every_row_leads_to_something():
    broken: dict[str, str] = {}
    for target in ROWS:
        module, _, name = target.partition(":")
        try:
            if getattr(importlib.import_module(module), name) is None:
                broken[target] = "None"
        except Exception as error:  # noqa: BLE001 - told, with all other rows
            broken[target] = repr(error)
    assert broken == {}


def test_every_module_is_in_one_area_only():
    assert len(TABLE) == sum(len(area.MODULES) for area in AREAS)
    assert set(FILES) == set(TABLE)


def test_every_module_is_in_a_package_of_the_table():
    assert {path for path in TABLE if path != "crewai" and path.rpartition(".")[0] not in TABLE} == set()


def test_no_row_is_said_to_be_absent():
    offered = {f"{module}.{name}" for module, names in TABLE.items() for name in names} | set(TABLE)
    assert {path for path in offered if reason(path)} == set()


def test_every_reason_is_a_sentence():
    assert {path for path, why in ABSENT.items() if not why.endswith((".", "`.")) or len(why) < 30} == set()


def test_a_reason_holds_for_what_is_below():
    assert reason("crewai.cli.create_crew.create_crew") == ABSENT["crewai.cli.create_crew"]
    assert reason("crewai.client") is None


def test_rows_keep_names_or_rename_them():
    assert rows("m.n", "A", B="C") == {"A": "m.n:A", "B": "m.n:C"}


def test_the_areas_are_modules_with_their_own_files():
    assert all(isinstance(area, ModuleType) for area in AREAS)
    assert FILES["crewai.tools"].endswith("tools.py")
    assert FILES["crewai.events.types.crew_events"].endswith("events.py")
