"""What crews, agents, flows and programs remember."""

from crewgraph.memory.record import MemoryMatch, MemoryRecord, ScopeInfo
from crewgraph.memory.scope import MemoryScope
from crewgraph.memory.scoring import MemoryConfig, compute_composite_score
from crewgraph.memory.slice import MemorySlice
from crewgraph.memory.unified import Memory

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
