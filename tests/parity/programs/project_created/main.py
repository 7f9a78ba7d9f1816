"""A project as `crewai create` lays it out, run by its `main`: YAML, tools, knowledge, hooks, callbacks, files."""

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
shutil.copytree(HERE / "knowledge", "knowledge")
sys.path.insert(0, str(HERE / "src"))

from trip_planner.main import run, run_with_trigger  # noqa: E402

run()
run_with_trigger()

script = {
    "DAYS-1": [{"json": {"days": [{"day": 1, "places": ["Quay", "Fort"]}], "total_cost": 120.5}}],
    "CITY-1": [
        {"tool": ["weather_lookup", {"city": "Brest", "days": 3}]},
        {"tool": ["Currency Converter", {"amount": "12", "to": "EUR"}]},
        "WEATHER-1 fine",
    ],
    "PLAN-1": ["PLAN-2 on day one the quay"],
    "BOOK-1": ["# BOOK-2 the booklet"],
    "*": [{"json": {"days": [{"day": 1, "places": ["Quay", "Fort"]}], "total_cost": 120.5}}],
}
