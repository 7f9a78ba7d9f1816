"""The names of `crewgraph.events`, for type checkers."""

from crewgraph.events import *  # noqa: F403
