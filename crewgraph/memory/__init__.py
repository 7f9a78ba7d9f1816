"""What crews, agents, flows and programs remember."""

from crewgraph.memory.memory import Memory, MemoryScope, MemorySlice
from crewgraph.memory.records import MemoryConfig, MemoryMatch, MemoryRecord, ScopeInfo, compute_composite_score

__all__ = [
    "Memory",
    "MemoryConfig",
    "MemoryMatch",
    "MemoryRecord",
    "MemoryScope",
    "MemorySlice",
    "ScopeInfo",
    "compute_composite_score",
]
