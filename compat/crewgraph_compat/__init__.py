"""`from crewai import ...` means crewgraph, on demand.

    import crewgraph_compat

    crewgraph_compat.install()          # before anything imports crewai
    from crewai import Agent            # crewgraph.Agent

Nothing of this is active until `install()`; unmodified programs run with `crewgraph run script.py`.
"""

from crewgraph_compat.surface import CrewaiImported, install, installed, is_installed, uninstall

__all__ = ["CrewaiImported", "install", "installed", "is_installed", "uninstall"]
