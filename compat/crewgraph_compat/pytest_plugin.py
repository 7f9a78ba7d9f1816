"""The tests of an unmodified CrewAI program: `pytest --crewgraph`, or `crewgraph = true` in pytest's settings.

`import crewai` means crewgraph before the first `conftest.py` is imported, in pytest's workers, too.
"""

import sys
from importlib import import_module

import pytest

__all__ = [
    "pytest_addoption",
    "pytest_load_initial_conftests",
    "pytest_report_header",
    "pytest_unconfigure",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the option and the setting."""
    group = parser.getgroup("crewgraph", "CrewAI programs on crewgraph")
    group.addoption("--crewgraph", action="store_true", help="let `import crewai` mean crewgraph")
    parser.addini("crewgraph", "let `import crewai` mean crewgraph", type="bool", default=False)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Put crewgraph in crewai's place, where it is asked for.

    Raises:
        pytest.UsageError: crewai itself is already imported.
    """
    if not (early_config.known_args_namespace.crewgraph or early_config.getini("crewgraph")):
        return
    surface = import_module("crewgraph_compat.surface.installation")
    try:
        surface.install()
    except surface.CrewaiImported as error:
        raise pytest.UsageError(str(error)) from error


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say which crewai is tested."""
    surface = sys.modules.get("crewgraph_compat.surface.installation")
    return "crewai: crewgraph stands in for it" if surface is not None and surface.is_installed() else None


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave no trace, where pytest runs inside of another program."""
    surface = sys.modules.get("crewgraph_compat.surface.installation")
    if surface is not None and (config.known_args_namespace.crewgraph or config.getini("crewgraph")):
        surface.uninstall()
