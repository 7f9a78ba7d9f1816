"""The IPython extension behind `%load_ext crewgraph`, which lets notebook cells use `from crewai import ...`."""

from crewgraph_compat.surface.installation import install, uninstall


def load_ipython_extension(ipython: object) -> None:
    """Make `import crewai` resolve to crewgraph in the kernel.

    Args:
        ipython: The shell, passed by IPython.

    Raises:
        CrewaiImported: The real crewai is already imported. Restart the kernel and load the extension first.
    """
    install()


def unload_ipython_extension(ipython: object) -> None:
    """Make `import crewai` resolve to crewai again, for `%unload_ext crewgraph`."""
    uninstall()
