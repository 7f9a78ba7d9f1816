"""Ejects what every parity program kicks off, and counts: `PYTHONPATH=.:compat:tests python -m eject.sweep [NAMES]`.

A line for each program: the same, different (with what is), or refused (with what for); then how often each was.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from parity.play import programs, source

from eject.playing import Played, difference, players

_NAMES = re.compile(r"`[^`]*`")


def swept(names: list[str], folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    """By program what came of it, with what it was refused for."""
    with players() as player:
        for name in names:
            place = folder / name
            place.mkdir(parents=True)
            found = player.play(source(name), place)
            yield name, *_verdict(found)


def _verdict(found: Played) -> tuple[str, list[str]]:
    refused: list[str] = found.reference.get("refused") or []
    if refused:
        return "refused", refused[1:] or refused
    different = difference(found)
    return ("different", [different]) if different else ("same", [])


def main() -> None:
    """Count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="the folder that the programs are left in")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    verdicts, reasons = Counter[str](), Counter[str]()
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for name, verdict, why in swept(given.names or programs(), given.keep or Path(folder)):
            verdicts[verdict] += 1
            reasons.update({_NAMES.sub("`_`", one).strip() for one in why} if verdict == "refused" else ())
            sys.stdout.write("\n    ".join([f"{name}: {verdict}", *(one.strip() for one in why)]) + "\n")
            sys.stdout.flush()
    for reason, count in reasons.most_common():
        sys.stdout.write(f"{count:4} {reason}\n")
    sys.stdout.write(f"{dict(verdicts)}\n")


if __name__ == "__main__":
    main()
