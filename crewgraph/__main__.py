"""`python -m crewgraph`."""

from crewgraph.cli.main import main

__all__ = []

if __name__ == "__main__":
    main()
