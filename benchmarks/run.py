"""`python -m benchmarks.run`: measure, print the tables and write them into benchmarks/README.md."""

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

from benchmarks.environment import OWN, Environment
from benchmarks.measure import Contender
from benchmarks.measures import MEASURES
from benchmarks.peer_process import PeerRunner
from benchmarks.rounds import played
from benchmarks.server import served
from benchmarks.table import machine, put, tabled

__all__ = ["main"]

_VERSION = "import importlib.metadata as m, json; print(json.dumps({{'version': m.version('{package}')}}))"


def main() -> None:
    """Run the measures that the command line names, or all."""
    asked = _asked()
    with tempfile.TemporaryDirectory() as folder, served() as url:
        environments = Path(os.environ.get("BENCH_CACHE") or Path(folder) / "environments")
        place = PeerRunner(folder=Path(folder) / "work", url=url)
        place.folder.mkdir()
        missing: set[Environment] = set()
        for measure in MEASURES:
            if measure.name not in asked.measures:
                continue
            here = [one for one in measure.contenders if _there(one, environments, missing)]
            results = played(measure, here, asked.rounds, place, environments)
            about = machine(asked.rounds, _versions(here, place, environments))
            section = tabled(measure, here, results, about)
            print(f"\n{section}", flush=True)
            if not asked.dry:
                put(measure.name, section)


def _asked() -> argparse.Namespace:
    names = [measure.name for measure in MEASURES]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("measures", nargs="*", default=names, help=f"some of: {', '.join(names)}")
    parser.add_argument("--rounds", type=int, default=7, help="how often each contender has its turn")
    parser.add_argument("--dry", action="store_true", help="leave the README as it is")
    asked = parser.parse_args()
    if unknown := set(asked.measures) - set(names):
        parser.error(f"no such measure: {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    return asked


def _there(contender: Contender, environments: Path, missing: set[Environment]) -> bool:
    """Whether a contender's environment could be created; a failure is reported once."""
    if contender.environment in missing:
        return False
    try:
        contender.environment.python(environments)
    except subprocess.CalledProcessError as error:
        print(f"{contender.environment.name} is left out, it could not be installed: {error}")
        missing.add(contender.environment)
        return False
    return True


def _versions(contenders: list[Contender], place: PeerRunner, environments: Path) -> list[str]:
    others = dict.fromkeys(one.environment for one in contenders if one.environment is not OWN)
    return [
        f"{one.package} {place.run(one.python(environments), ['-c', _VERSION.format(package=one.package)])['version']}"
        for one in others
    ]


if __name__ == "__main__":
    main()
