"""`python -m crewgraph`."""

from crewgraph.cli.main import main

if __name__ == "__main__":
    main()
