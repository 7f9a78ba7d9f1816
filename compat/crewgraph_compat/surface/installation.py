"""Putting crewgraph in crewai's place, and taking it out again."""

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from crewgraph.errors import CrewgraphError
from crewgraph_compat.surface.facade import Facade
from crewgraph_compat.surface.files_package import FilesFinder, is_stand_in
from crewgraph_compat.surface.finder import ROOT, Finder
from crewgraph_compat.tools_package.finder import TOOLS, ToolsFinder

__all__ = ["CrewaiImported", "install", "installed", "is_installed", "uninstall"]


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

    def leave(self) -> None:
        for finder in (self.finder, self.tools, self.files):
            if finder in sys.meta_path:
                sys.meta_path.remove(finder)
        # What of crewai_tools was imported meanwhile is bound to crewgraph.
        for name in [name for name, module in list(sys.modules.items()) if _is_ours(name, module)]:
            del sys.modules[name]


def _is_ours(name: str, module: object) -> bool:
    return isinstance(module, Facade) or is_stand_in(module) or name.partition(".")[0] == TOOLS


_surface = _Surface()


def install() -> None:
    """Let `import crewai` mean crewgraph in this process, until `uninstall()`; twice is once.

    An installed crewai is left alone and not imported.

    Raises:
        CrewaiImported: crewai itself is already imported.
    """
    with _surface.lock:
        _surface.enter()
        _surface.stays = True


def uninstall() -> None:
    """Let `import crewai` mean crewai again; what was imported keeps working where it is already bound."""
    with _surface.lock:
        _surface.stays = False
        _surface.leave()


@contextmanager
def installed() -> Generator[None]:
    """Let `import crewai` mean crewgraph inside a `with` block, in the whole process.

    Blocks may overlap, in any number of threads: the last to end uninstalls, unless `install()` was called.

    Raises:
        CrewaiImported: crewai itself is already imported.
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
    """Whether `import crewai` means crewgraph."""
    return _surface.finder in sys.meta_path


def _refuse_if_imported() -> None:
    theirs = {
        name: module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] == ROOT and not isinstance(module, Facade)
    }
    if theirs:
        name, module = min(theirs.items())
        raise CrewaiImported(
            f"`{name}` is already imported (from {getattr(module, '__file__', None) or 'an unknown place'}): a program "
            "that has parts of both would not work. Call `crewgraph_compat.install()` before anything imports crewai, or "
            "start the program with `crewgraph run`."
        )
