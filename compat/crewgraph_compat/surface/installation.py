"""Install crewgraph in place of crewai, and uninstall it again."""

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from crewgraph.errors import CrewgraphError
from crewgraph_compat.surface.facade import Facade
from crewgraph_compat.surface.files_package import FilesFinder, is_stand_in
from crewgraph_compat.surface.finder import ROOT, Finder
from crewgraph_compat.tools_package.finder import TOOLS, ToolsFinder

_NEW_PROCESSES = str(Path(__file__).parent.parent / "new_processes")
"""The folder with the `crewai` that interpreters import which multiprocessing starts."""


class CrewaiImported(CrewgraphError, ImportError):
    """Crewai itself is already imported, so crewgraph cannot take its place."""


@dataclass
class _Surface:
    lock: threading.RLock = field(default_factory=threading.RLock)
    finder: Finder = field(default_factory=Finder)
    tools: ToolsFinder = field(default_factory=ToolsFinder)
    files: FilesFinder = field(default_factory=FilesFinder)
    stays: bool = False
    blocks: int = 0

    def enter(self) -> None:
        if self.finder in sys.meta_path:
            return
        _refuse_if_imported()
        sys.meta_path[:0] = [self.finder, self.tools, self.files]
        if _NEW_PROCESSES not in sys.path:
            sys.path.insert(1, _NEW_PROCESSES)  # after the program's own folder, before an installed crewai

    def leave(self) -> None:
        for finder in (self.finder, self.tools, self.files):
            if finder in sys.meta_path:
                sys.meta_path.remove(finder)
        if _NEW_PROCESSES in sys.path:
            sys.path.remove(_NEW_PROCESSES)
        # Modules of crewai_tools imported in the meantime are bound to crewgraph.
        for name in [name for name, module in list(sys.modules.items()) if _is_ours(name, module)]:
            del sys.modules[name]


def _is_ours(name: str, module: object) -> bool:
    return isinstance(module, Facade) or is_stand_in(module) or name.partition(".")[0] == TOOLS


_surface = _Surface()


def install() -> None:
    """Make `import crewai` resolve to crewgraph in this process until `uninstall()`; idempotent.

    An installed crewai is neither changed nor imported.

    Raises:
        CrewaiImported: The real crewai is already imported.
    """
    with _surface.lock:
        _surface.enter()
        _surface.stays = True


def uninstall() -> None:
    """Make `import crewai` resolve to crewai again; names that are already bound keep working."""
    with _surface.lock:
        _surface.stays = False
        _surface.leave()


@contextmanager
def installed() -> Generator[None]:
    """Make `import crewai` resolve to crewgraph for the duration of a `with` block, in the whole process.

    Blocks may overlap and run in several threads: the last one to exit uninstalls, unless `install()` was called.

    Raises:
        CrewaiImported: The real crewai is already imported.
    """
    with _surface.lock:
        _surface.enter()
        _surface.blocks += 1
    try:
        yield
    finally:
        with _surface.lock:
            _surface.blocks -= 1
            if not _surface.blocks and not _surface.stays:
                _surface.leave()


def is_installed() -> bool:
    """Whether `import crewai` resolves to crewgraph."""
    return _surface.finder in sys.meta_path


def _refuse_if_imported() -> None:
    imported = {
        name: module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] == ROOT and not isinstance(module, Facade)
    }
    if imported:
        name, module = min(imported.items())
        raise CrewaiImported(
            f"`{name}` is already imported (from {getattr(module, '__file__', None) or 'an unknown location'}), and a "
            "program cannot mix it with crewgraph. Call `crewgraph_compat.install()` before anything imports crewai, or "
            "start the program with `crewgraph run`."
        )
