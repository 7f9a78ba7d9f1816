"""The command `crewgraph` in a fork: a job of `fork_server.py`."""

import sys
from pathlib import Path

from crewgraph.cli.main import main as command


def main(place: Path, *words: Path) -> None:
    """Run the command with these arguments; its output and status are written to files."""
    sys.argv = ["crewgraph", *map(str, words)]
    sys.path.insert(0, "")
    with (place / "out").open("w") as sys.stdout, (place / "err").open("w") as sys.stderr:
        try:
            command()
        except SystemExit as ended:
            (place / "status").write_text(str(ended.code or 0))
