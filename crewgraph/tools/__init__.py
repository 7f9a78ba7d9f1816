"""Tools: what agents may have done."""

from crewgraph.tools.base import BaseTool, EnvVar, tool

__all__ = ["BaseTool", "EnvVar", "tool"]
