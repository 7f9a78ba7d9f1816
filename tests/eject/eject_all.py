"""Ejects every parity program and counts the outcomes: `PYTHONPATH=.:compat:tests python -m eject.eject_all [NAMES]`.

Prints a line for each program: same, different (with the difference) or refused (with the reasons); then the totals.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from parity.run_program import programs, source

from eject.run_both import Comparison, comparison_runner, difference

_NAMES = re.compile(r"`[^`]*`")


def eject_programs(names: list[str], folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each program with its outcome and the reasons."""
    with comparison_runner() as runner:
        for name in names:
            place = folder / name
            place.mkdir(parents=True)
            found = runner.run(source(name), place)
            yield name, *_verdict(found)


def _verdict(found: Comparison) -> tuple[str, list[str]]:
    refused: list[str] = found.reference.get("refused") or []
    if refused:
        return "refused", refused[1:] or refused
    different = difference(found)
    return ("different", [different]) if different else ("same", [])


def main() -> None:
    """Print the outcomes of all programs, then the totals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="keep the ejected programs in this folder")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    verdicts, reasons = Counter[str](), Counter[str]()
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for name, verdict, why in eject_programs(given.names or programs(), given.keep or Path(folder)):
            verdicts[verdict] += 1
            reasons.update({_NAMES.sub("`_`", one).strip() for one in why} if verdict == "refused" else ())
            sys.stdout.write("\n    ".join([f"{name}: {verdict}", *(one.strip() for one in why)]) + "\n")
            sys.stdout.flush()
    for reason, count in reasons.most_common():
        sys.stdout.write(f"{count:4} {reason}\n")
    sys.stdout.write(f"{dict(verdicts)}\n")


if __name__ == "__main__":
    main()
