#!/usr/bin/env python3
"""Install what each page says, in an empty environment with nothing else, and run a program there.

    .ci/installations.py [NAME]...     all of them and a created crew, or those named, as in `mcp create-flow`

Needs Python and an index with crewgraph's dependencies; crewgraph itself comes from this checkout. README's own command asks the
index; the other commands take their packages from a folder that is filled from the index once, which also has crewgraph, and
there `pip install` is uv's, which does the same in a tenth of the time. Exits with 1 if an installation does not work, or if a
page has a `pip install` that nothing here tries.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from servers.openai_api import OpenAIServer

PROGRAMS = Path(__file__).parent / "programs"
BASE = "pip install ."
"""How README installs crewgraph; what a page says of an extra adds to it."""

CHECKOUT = "pip install ."
"""How it is installed here, also when README takes it from an index."""

PLAIN = "plain"
"""README's installation, the one that asks the index itself."""

_COMMAND = re.compile(r"pip install (?:-\S+ )*(?:\"[^\"\n]+\"|'[^'\n]+'|[^\s`\"'#)]+)")
"""A command in a page, with its options and the first thing that it installs."""

_EXTRAS = re.compile(r"(?:crewgraph|\.)\[([\w,-]+)\]")
"""The extras of crewgraph in such a command."""

_OURS = re.compile(r"crewgraph\[|crewai-tools|['\"]?\.(\[|$|\s)")
"""What concerns crewgraph in such a command."""


@dataclass(frozen=True)
class Installation:
    """What a page says, and what has to work then."""

    page: str
    said: tuple[str, ...]
    """The commands, as they stand in the page."""

    run: tuple[str, ...]
    """Commands in a folder with copies of the programs; `crewgraph` and `python` are those of the environment."""


INSTALLATIONS = {
    PLAIN: Installation("README.md", (BASE,), ("crewgraph run crew.py", "crewgraph check crew.py")),
    "crewai-tools": Installation(
        "docs/crewai-tools.md",
        ("pip install --no-deps crewai-tools", 'pip install "crewgraph[crewai-tools]"'),
        ("crewgraph run all_tools.py", "crewgraph run crew_with_tools.py"),
    ),
    "migrate": Installation(
        "docs/moving.md",
        ('pip install "crewgraph[migrate]"',),
        ("crewgraph migrate crew.py --write", "python crew.py"),
    ),
    "eject": Installation(
        "docs/eject.md",
        ('pip install "crewgraph[eject]"',),
        (
            "crewgraph eject --import crew.py:crew --output ejected.py",
            "python -m pip uninstall -q -y crewgraph",
            "python ejected.py --harbour Brest",
        ),
    ),
    "pdf": Installation(
        "docs/knowledge.md", ('pip install "crewgraph[pdf,excel,web]"',), ("crewgraph run pdf_knowledge.py",)
    ),
    "a2a": Installation("docs/a2a.md", ('pip install "crewgraph[a2a]"',), ("crewgraph run remote_agent.py",)),
    "mcp": Installation("docs/tools.md", ('pip install "crewgraph[mcp]"',), ("crewgraph run mcp_server.py",)),
    "middleware": Installation(
        "docs/agents.md", ('pip install "crewgraph[middleware]"',), ("crewgraph run middleware.py",)
    ),
    "postgres": Installation("README.md", ('pip install "crewgraph[postgres]"',), ("crewgraph run postgres.py",)),
    "serve": Installation("docs/serving.md", ('pip install "crewgraph[serve]"',), ("python served_crew.py",)),
    "serve-queue": Installation(
        "docs/serving.md", ('pip install "crewgraph[serve,queue]"',), ("python served_queue.py",)
    ),
    "queue": Installation("docs/queue.md", ('pip install "crewgraph[queue]"',), ("crewgraph run queue_of_runs.py",)),
    "declared": Installation(
        "docs/declared-flows.md", ('pip install "crewgraph[declared]"',), ("crewgraph run declared_flow.py",)
    ),
    **{
        name: Installation(
            "README.md",
            (),
            (
                "uv build -q -o wheels $CHECKOUT",
                *(
                    command
                    for package in ("*.tar.gz", "*.whl")
                    for command in (
                        "uv venv -q --clear apart",
                        f"uv pip install -q --python apart/bin/python --resolution {resolution} wheels/{package}",
                        "env -u OPENAI_API_KEY apart/bin/python $CHECKOUT/examples/demo.py",
                        'apart/bin/python -c "from crewgraph.core.pregel import saves_inline; assert saves_inline"',
                    )
                ),
            ),
        )
        for name, resolution in {"lowest": "lowest-direct", "newest": "highest"}.items()
    },
}

UNTRIED = {
    **{
        f'pip install --no-cache-dir "{source}[{extras}]"': "in a Docker file"
        for source in ("/crewgraph", "crewgraph")
        for extras in ("serve", "serve,queue")
    },
    'pip install "crewgraph[anthropic]"': "asks a provider's server",
    'pip install "crewgraph[serve,mcp]"': "each is tried alone",
    'pip install "crewgraph[mem0]"': "asks a server",
    "pip install -e '.[dev]'": "a step of created projects, which `create` follows",
}
"""Commands of pages that are not tried, and why."""


class Failed(Exception):
    """An installation does not work."""


@dataclass(frozen=True)
class Stock:
    """What all installations share.

    Environments are created in a few folders that are used again and again: so Python finds the bytecode of a file that an
    earlier installation has compiled.
    """

    pip: Path
    """An environment with nothing but pip in it."""

    uv: Path
    """One with uv."""

    wheels: Path
    """crewgraph, whatever the tried commands install, and what builds and tests a created project."""

    bytecode: Path
    """Compiled Python files, by the path of their source."""

    places: "SimpleQueue[Path]"
    """The folders for environments that are free; none of them exists."""

    @contextmanager
    def place(self) -> Generator[Path]:
        """Create a folder for an environment, and remove it afterwards."""
        folder = self.places.get()
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder)
            self.places.put(folder)


def main(names: list[str]) -> int:
    """Try the installations; return the exit code."""
    failed = unknown_commands() if not names else []
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(os.cpu_count()) as pool:
        places = SimpleQueue[Path]()
        for number in range(os.cpu_count() or 1):
            places.put(Path(temporary) / str(number))
        stock = Stock(*(Path(temporary) / name for name in ("pip", "uv", "wheels", "bytecode")), places)
        venv.create(stock.pip, with_pip=True)
        venv.create(stock.uv, with_pip=True)
        run(f"{stock.uv}/bin/python -m pip install --quiet uv", ROOT, _variables())
        plain = [pool.submit(tried, PLAIN, stock)] if PLAIN in names or not names else []
        fetch_wheels(stock)
        others = [name for name in names or ("create-crew", *INSTALLATIONS) if name != PLAIN]
        attempts = plain + [pool.submit(tried, name, stock) for name in others]
        failed += filter(None, [attempt.result() for attempt in attempts])
    print("\n\n".join(failed) or "Every installation works.")
    return 1 if failed else 0


def fetch_wheels(stock: Stock) -> None:
    """Fill the folder of wheels from the index: the newest of each that go together."""
    extras = {extra for one in INSTALLATIONS.values() for said in one.said for extra in _EXTRAS.findall(said)}
    wanted = f'".[{",".join(sorted(set(",".join(extras).split(","))))}]" "hatchling>=1.25" "editables" "pytest>=8"'
    environment = {**_variables(), "PATH": f"{stock.pip / 'bin'}:{_variables()['PATH']}"}
    for packages in (wanted, "--no-deps crewai-tools"):
        run(f"pip wheel --wheel-dir {stock.wheels} {packages}", ROOT, environment)


def tried(name: str, stock: Stock) -> str:
    """Try an installation; return what is wrong with it, nothing if it works."""
    started, problem = time.monotonic(), ""
    try:
        if name.startswith("create-"):
            try_created(name.removeprefix("create-"), stock)
        else:
            try_installation(name, stock)
    except Failed as error:
        problem = f"{name}: {error}"
    print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)
    return problem


def unknown_commands() -> list[str]:
    """Return a text for each command of a page that nothing tries, and for each one tried that no page has."""
    known = {(one.page, said) for one in INSTALLATIONS.values() for said in one.said}
    texts = {page: (ROOT / page).read_text("utf-8") for page, _ in known}
    gone = [f"{page} does not say `{said}` any more" for page, said in known if not _says(texts[page], said)]
    tried = {said for _, said in known} | set(UNTRIED)
    new = [
        f"{page.relative_to(ROOT)} says `{said}`, which nothing tries: add it to {Path(__file__).name}"
        for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
        for said in _COMMAND.findall(page.read_text("utf-8"))
        if _OURS.search(said.removeprefix("pip install ")) and said not in tried
    ]
    return gone + new


def _says(text: str, said: str) -> bool:
    return said in text or said.removeprefix("pip install ") in text


def try_installation(name: str, stock: Stock) -> None:
    """Install what a page says, and run its programs."""
    installation = INSTALLATIONS[name]
    with stock.place() as place, OpenAIServer(answer) as server:
        environment = make_environment(place, stock)
        for said in installation.said:
            command = CHECKOUT if said == BASE else said
            run(command, ROOT, environment if name == PLAIN else from_wheels(environment, stock))
        folder = place / "work"
        folder.mkdir()
        for program in PROGRAMS.iterdir():
            (folder / program.name).write_bytes(program.read_bytes())
        for command in installation.run:
            run(command, folder, with_model(environment, server.url))


def try_created(kind: str, stock: Stock) -> None:
    """Create a project of a kind, and follow the steps that its README names, with a crewgraph that no index has."""
    with stock.place() as place, OpenAIServer(answer) as server:
        environment = from_wheels(make_environment(place, stock), stock)
        run(CHECKOUT, ROOT, environment)
        run(f"crewgraph create {kind} Harbour-{kind}", place, environment)
        folder = place / f"harbour_{kind}"
        steps = re.search(r"```text\n(.*?)```", (folder / "README.md").read_text("utf-8"), re.DOTALL)
        assert steps is not None
        lines = [line.partition("  ")[0] for line in steps[1].splitlines() if not line.startswith("crewgraph chat")]
        run("set -e\n" + "\n".join(lines), folder, with_model(outside_environment(environment), server.url))
        run("crewgraph run", folder, with_model(environment, server.url))


def answer(_request: object) -> str:
    """Answer as the model of every program does."""
    return "Final Answer: high tide at noon"


def make_environment(folder: Path, stock: Stock) -> dict[str, str]:
    """Create an empty virtual environment, with pip; return the variables of a shell in it."""
    environment = folder / "venv"
    venv.create(environment, symlinks=True)
    for packages in stock.pip.glob("lib/*/site-packages"):  # what `venv` would unpack and compile each time
        shutil.copytree(packages, environment / packages.relative_to(stock.pip), dirs_exist_ok=True)
    pip = environment / "bin" / "pip"
    pip.write_text((stock.pip / "bin" / "pip").read_text("utf-8").replace(str(stock.pip), str(environment)), "utf-8")
    pip.chmod(0o755)
    return {
        **_variables(),
        "PATH": f"{environment / 'bin'}:{stock.uv / 'bin'}:{_variables()['PATH']}",
        "UV_CACHE_DIR": str(stock.uv / "cache"),
        "VIRTUAL_ENV": str(environment),
        "CREWGRAPH_STORAGE_DIR": str(folder / "storage"),
        "CHECKOUT": str(ROOT),
        "PYTHONPYCACHEPREFIX": str(stock.bytecode),
        "PIP_NO_COMPILE": "0",  # that is: do not. Most of what is installed is never imported here
    }


def from_wheels(environment: dict[str, str], stock: Stock) -> dict[str, str]:
    """Let `pip` be uv's, and let both take everything from the folder of wheels; return the variables."""
    pip = Path(environment["VIRTUAL_ENV"]) / "bin" / "pip"
    pip.write_text(f'#!/bin/sh\nexec "{stock.uv}/bin/uv" pip "$@"\n', "utf-8")
    sources = {"NO_INDEX": "1", "FIND_LINKS": str(stock.wheels)}
    return environment | {f"{tool}_{name}": value for tool in ("PIP", "UV") for name, value in sources.items()}


def outside_environment(environment: dict[str, str]) -> dict[str, str]:
    """Return the variables without the virtual environment: the steps of a README make their own."""
    return {**environment, "PATH": _variables()["PATH"]}


_NOT_PASSED_ON = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")


def _variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}


def with_model(environment: dict[str, str], url: str) -> dict[str, str]:
    """Add the variables of a model that a server on loopback plays."""
    return {**environment, "OPENAI_API_KEY": "key", "OPENAI_BASE_URL": url, "OPENAI_API_BASE": url}


def run(command: str, folder: Path, environment: dict[str, str]) -> None:
    """Run a command; if it fails, raise its output."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("WARNING: Location")]
        raise Failed(f"`{command}` ends with {done.returncode}:\n" + "\n".join(lines[-20:]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
