"""Pytest plugin that runs the tests of an unmodified CrewAI program: `pytest --crewgraph`, or the ini option `crewgraph = true`.

`import crewai` resolves to crewgraph before the first `conftest.py` is imported, also in pytest-xdist workers.
"""

import sys
from importlib import import_module

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the command line and ini options."""
    group = parser.getgroup("crewgraph", "CrewAI programs on crewgraph")
    group.addoption("--crewgraph", action="store_true", help="resolve `import crewai` to crewgraph")
    parser.addini("crewgraph", "resolve `import crewai` to crewgraph", type="bool", default=False)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Install crewgraph in place of crewai if the option is set; packages in `src` can be imported, as under `crewgraph run`.

    Raises:
        pytest.UsageError: The real crewai is already imported.
    """
    if not (early_config.known_args_namespace.crewgraph or early_config.getini("crewgraph")):
        return
    surface = import_module("crewgraph_compat.surface.installation")
    try:
        surface.install()
    except surface.CrewaiImported as error:
        raise pytest.UsageError(str(error)) from error
    source = early_config.rootpath / "src"
    if source.is_dir() and str(source) not in sys.path:
        sys.path.append(str(source))


def pytest_report_header(config: pytest.Config) -> str | None:
    """State in the report header that crewgraph stands in for crewai."""
    surface = sys.modules.get("crewgraph_compat.surface.installation")
    return "crewai: crewgraph stands in for it" if surface is not None and surface.is_installed() else None


def pytest_unconfigure(config: pytest.Config) -> None:
    """Uninstall, for programs that run pytest in their own process."""
    surface = sys.modules.get("crewgraph_compat.surface.installation")
    if surface is not None and (config.known_args_namespace.crewgraph or config.getini("crewgraph")):
        surface.uninstall()
