"""Tools: what agents may have done."""

from crewgraph.tools.base import BaseTool, EnvVar, tool
from crewgraph.tools.cache import CacheHandler

__all__ = ["BaseTool", "CacheHandler", "EnvVar", "tool"]
