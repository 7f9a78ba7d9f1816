"""`%load_ext crewgraph` in a notebook: the cells below it may say `from crewai import ...`."""

from crewgraph_compat.surface.installation import install, uninstall

__all__ = ["load_ipython_extension", "unload_ipython_extension"]


def load_ipython_extension(ipython: object) -> None:
    """Let `import crewai` mean crewgraph in the kernel.

    Args:
        ipython: the shell; IPython hands it over.

    Raises:
        CrewaiImported: crewai itself is already imported. Restart the kernel, and load the extension first.
    """
    install()


def unload_ipython_extension(ipython: object) -> None:
    """Let `import crewai` mean crewai again, for `%unload_ext crewgraph`."""
    uninstall()
