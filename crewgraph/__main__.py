"""`python -m crewgraph`."""

from crewgraph.cli.command import main

__all__ = []

if __name__ == "__main__":
    main()
