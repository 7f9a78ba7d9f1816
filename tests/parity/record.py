"""`python -m parity.record`: run the programs on CrewAI and on crewgraph, store the traces, write `results.md`.

The environments with CrewAI are made below `PARITY_ENVIRONMENTS` (default `.venv-parity`); `PARITY_CREWAI_121` and
`PARITY_CREWAI_115` may name a Python that has one.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.environment import Environment
from parity.compare import ASPECTS, NEW, OLD, follows, known, recording, relation, whole
from parity.run_program import CREWGRAPH, Implementation, programs, source, trace_program

__all__ = ["main"]

HERE = Path(__file__).parent
_REQUIRED = {
    OLD: Environment(name=OLD, package="crewai", requirement="crewai==1.2.1", variable="PARITY_CREWAI_121"),
    NEW: Environment(name=NEW, package="crewai", requirement="crewai==1.15.30", variable="PARITY_CREWAI_115"),
}
_MARKS = {"both": "=", NEW: NEW, OLD: OLD, "neither": "≠"}


def main() -> int:
    """Record and compare; 1 where a difference is not in the table, or one in the table is not there."""
    asked = _asked()
    names: list[str] = asked.programs or programs()
    versions: list[str] = [] if asked.compare else asked.releases
    folder = Path(os.environ.get("PARITY_ENVIRONMENTS", ".venv-parity"))
    them = {name: Implementation(name, (_REQUIRED[name].python(folder.absolute()),)) for name in versions}
    (HERE / "recordings").mkdir(exist_ok=True)
    with ThreadPoolExecutor(asked.jobs) as pool:
        rows = list(pool.map(partial(_recorded, them), names))
    faults = sum(len(row["faults"]) for row in rows)
    if not asked.programs:
        (HERE / "results.md").write_text(_tabled(rows, _versions()), "utf-8")
    print(f"{len(rows)} programs, {faults} unknown differences")
    return 1 if faults else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", help="some of them; without any, all, and results.md is written")
    parser.add_argument("--compare", action="store_true", help="leave the recordings of CrewAI as they are")
    parser.add_argument(
        "--releases",
        nargs="+",
        choices=[OLD, NEW],
        default=[OLD, NEW],
        help="the releases of CrewAI to record; other recordings are kept",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def _recorded(them: dict[str, Implementation], name: str) -> dict[str, Any]:
    """Run a program on each implementation, store its traces, and compare them."""
    traces = {**recording(name), **{version: trace_program(name, one) for version, one in them.items()}}
    ours = trace_program(name, CREWGRAPH)
    found = {aspect: relation(ours, traces, aspect) for aspect in ASPECTS}
    row: dict[str, Any] = {"program": name, "relations": found, "faults": _faults(name, found)}
    pinned: dict[str, Any] = {}
    for aspect in ASPECTS:
        if (difference := known(name, aspect)) and difference.relation == "better":
            pinned.update(_pinned(ours, aspect))
    if row["faults"]:
        pinned = traces.get("crewgraph", {})  # what is not understood is not to be expected from now on
    retained = {OLD: traces[OLD], NEW: traces[NEW], **({"crewgraph": pinned} if pinned else {})}
    target = HERE / "recordings" / f"{name}.json"
    target.write_text(json.dumps(retained, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")
    shown = " ".join(f"{aspect} {_MARKS[one]}" for aspect, one in found.items() if one != "both")
    reported = f"  UNKNOWN: {', '.join(row['faults'])}" if row["faults"] else ""
    print(f"{name:28} {shown or 'equal to both'}{reported}", flush=True)
    return row


def _faults(name: str, found: dict[str, str]) -> list[str]:
    """The aspects that are not as the table of differences has them."""
    if whole(name):
        return ["*"] if all(follows(one) for one in found.values()) else []
    faults: list[str] = []
    for aspect, one in found.items():
        difference = known(name, aspect)
        expected = OLD if difference and difference.relation == OLD else None
        if follows(one) == (difference is not None) or (expected and one != expected):
            faults.append(aspect)
    return faults


def _pinned(ours: dict[str, Any], aspect: str) -> dict[str, Any]:
    names = {"outcome": ("printed", "results", "files", "raised"), "usage": ("results",)}.get(aspect, (aspect,))
    return {name: ours[name] for name in (*names, "broken") if name in ours}


def _versions() -> dict[str, str]:
    """The releases that recordings are made with."""
    folder = Path(os.environ.get("PARITY_ENVIRONMENTS", ".venv-parity"))
    reported = "import importlib.metadata as m; print(m.version('crewai'))"
    return {
        name: subprocess.run(
            [one.python(folder.absolute()), "-c", reported], capture_output=True, text=True
        ).stdout.strip()
        for name, one in _REQUIRED.items()
    }


def _tabled(rows: list[dict[str, Any]], versions: dict[str, str]) -> str:
    counts = Counter(found for row in rows for found in row["relations"].values())
    kinds = Counter(
        difference.relation
        for row in rows
        for aspect, found in row["relations"].items()
        if found == "neither" and (difference := known(row["program"], aspect))
    )
    programs = Counter(map(_judged, rows))
    head = [
        "# Parity",
        "",
        f"{len(rows)} programs, run unchanged on CrewAI {versions[OLD]}, CrewAI {versions[NEW]} and crewgraph; made by",
        "`make parity`. `=`: as on both; `1.15` or `1.2.1`: they differ, and it is as there; `≠`: as on neither. Why is in",
        "`differences.toml`; letters say what is meant: b on purpose, m not there yet, x a bug of ours.",
        "",
        f"Of {len(rows) * len(ASPECTS)} comparisons {counts['both']} are as on both, {counts[NEW]} as on 1.15 alone, "
        f"{counts[OLD]} as on 1.2.1 alone, {counts['neither']} as on neither "
        f"({kinds['better']} on purpose, {kinds['missing']} not there yet, {kinds['bug']} bugs).",
        "",
        f"Of {len(rows)} programs {programs['identical']} do in everything what CrewAI does, in one of its releases at least; "
        f"{programs['better']} differ on purpose in something; {programs['worse']} are worse.",
        "",
        f"| program | what it is about | {' | '.join(ASPECTS)} |",
        f"|---|---|{'---|' * len(ASPECTS)}",
    ]
    for row in rows:
        name = row["program"]
        cells = [_cell(name, aspect, row["relations"][aspect]) for aspect in ASPECTS]
        head.append(f"| `{name}` | {_about(name)} | {' | '.join(cells)} |")
    return "\n".join(head) + "\n"


def _judged(row: dict[str, Any]) -> str:
    """Return the overall result of a program: identical, better (on purpose) or worse."""
    apart = [aspect for aspect, found in row["relations"].items() if not follows(found)]
    listed = [known(row["program"], aspect) for aspect in apart]
    if row["faults"] or any(one is None or one.relation in ("missing", "bug") for one in listed):
        return "worse"
    return "better" if "neither" in row["relations"].values() else "identical"


def _cell(name: str, aspect: str, found: str) -> str:
    difference = None if follows(found) else known(name, aspect)
    letter = {"better": " b", "missing": " m", "bug": " x"}.get(difference.relation, "") if difference else ""
    return f"{_MARKS[found]}{letter}"


def _about(name: str) -> str:
    reported = ast.get_docstring(ast.parse(source(name).read_text("utf-8"))) or ""
    return " ".join(reported.split()).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
