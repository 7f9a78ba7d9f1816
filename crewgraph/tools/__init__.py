"""Tools that agents can use."""

from crewgraph.tools.base import BaseTool, EnvVar, tool
from crewgraph.tools.cache import CacheHandler

__all__ = ["BaseTool", "CacheHandler", "EnvVar", "tool"]
