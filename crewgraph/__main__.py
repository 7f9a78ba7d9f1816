"""`python -m crewgraph`."""

from crewgraph.cli.main import app

__all__ = []

if __name__ == "__main__":
    app()
