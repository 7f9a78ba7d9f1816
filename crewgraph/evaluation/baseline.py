"""The file that holds earlier runs of an experiment."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

__all__ = ["added", "changes", "latest"]


def latest(path: Path) -> dict[str, Any] | None:
    """The run that was added last; None where there is none.

    Raises:
        ValueError: the file holds something else.
        OSError: it cannot be read.
    """
    runs = _runs(path)
    return runs[-1] if runs else None


def added(path: Path, run: Mapping[str, Any]) -> None:
    """Add a run; the file is whole at any time.

    Raises:
        ValueError: the file holds something else.
        OSError: it cannot be read or written.
    """
    runs = [*_runs(path), run]
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(json.dumps(runs, indent=2, ensure_ascii=False), "utf-8")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def changes(before: Mapping[str, Any], now: Mapping[str, bool]) -> dict[str, Any]:
    """What has become of each case.

    Args:
        before: an earlier run.
        now: whether each case passes, by name.
    """
    then = {str(one["identifier"]): bool(one["passed"]) for one in before["results"]}
    both = [name for name in now if name in then]
    return {
        "improved": [name for name in both if now[name] and not then[name]],
        "regressed": [name for name in both if then[name] and not now[name]],
        "unchanged": [name for name in both if now[name] == then[name]],
        "new_tests": [name for name in now if name not in then],
        "missing_tests": [name for name in then if name not in now],
        "total_compared": len(both),
        "baseline_timestamp": str(before.get("timestamp", "")),
    }


def _runs(path: Path) -> list[dict[str, Any]]:
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return []
    try:
        found: Any = json.loads(text) if text.strip() else []
    except ValueError as error:
        raise _foreign(path, f"it is no JSON: {error}") from error
    runs: list[Any] = cast("list[Any]", found if isinstance(found, list) else [found] if found else [])
    for run in runs:
        results: Any = cast("dict[str, Any]", run).get("results") if isinstance(run, dict) else None
        if not isinstance(results, list) or not all(_is_case(one) for one in cast("list[Any]", results)):
            raise _foreign(path, "a run is an object with `results`, of which each has `identifier` and `passed`")
    return runs


def _is_case(one: Any) -> bool:
    return isinstance(one, dict) and "identifier" in one and "passed" in one


def _foreign(path: Path, why: str) -> ValueError:
    return ValueError(
        f"`{path}` holds no runs of an experiment ({why}). Take it away, or give another `baseline_filepath`"
    )
