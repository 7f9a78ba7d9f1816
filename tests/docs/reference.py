"""The classes of the reference, by page, and their public members."""

import importlib
import runpy
from functools import cache
from typing import Any, cast

import griffe

from docs.pages import ROOT

__all__ = ["CLASSES", "load_class", "member", "public_names"]

_DEFINITIONS = "crewgraph.definitions"

CLASSES: dict[str, tuple[str, ...]] = {
    "agent": ("crewgraph.agent.BaseAgent", "crewgraph.agent.Agent", f"{_DEFINITIONS}.agent.planning.PlanningConfig"),
    "task": ("crewgraph.task.Task", "crewgraph.task.ConditionalTask"),
    "crew": ("crewgraph.crew.Crew",),
    "flow": ("crewgraph.flow.flow.Flow",),
    "llm": ("crewgraph.llm.llm.LLM", "crewgraph.llm.base.BaseLLM", "crewgraph.llm.scripted.ScriptedLLM"),
    "tools": ("crewgraph.tools.base.BaseTool", "crewgraph.tools.base.EnvVar", "crewgraph.tools.cache.CacheHandler"),
    "memory": (
        "crewgraph.memory.memory.Memory",
        "crewgraph.memory.records.MemoryRecord",
        "crewgraph.memory.records.MemoryMatch",
        "crewgraph.knowledge.knowledge.Knowledge",
        "crewgraph.knowledge.passage.KnowledgeConfig",
    ),
    "results": (
        f"{_DEFINITIONS}.task.output.CrewOutput",
        f"{_DEFINITIONS}.task.output.TaskOutput",
        f"{_DEFINITIONS}.crew.pending.PendingCrew",
        f"{_DEFINITIONS}.crew.pending.CrewQuestion",
        f"{_DEFINITIONS}.crew.pending.RunInfo",
        f"{_DEFINITIONS}.flow.feedback.PendingFlow",
        f"{_DEFINITIONS}.flow.feedback.Question",
        "crewgraph.llm.usage.UsageMetrics",
    ),
    "persistence": (
        "crewgraph.storage.checkpoints.sqlite.SqliteCheckpointer",
        "crewgraph.storage.store.faiss_store.FaissStore",
        f"{_DEFINITIONS}.flow.persistence.FlowPersistence",
        "crewgraph.runtime.flow.persistence.SQLiteFlowPersistence",
        "crewgraph.contrib.snapshots.config.CheckpointConfig",
        "crewgraph.memory.backend.StorageBackend",
        "crewgraph.knowledge.storage.BaseKnowledgeStorage",
    ),
}


def load_class(path: str) -> type[Any]:
    """The class of a path."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def public_names(path: str) -> set[str]:
    """The public fields, attributes, properties and methods of a class, also inherited ones, that crewgraph defines."""
    return _hooks()["public_names"](path)


@cache
def _hooks() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "site" / "hooks.py"))


@cache
def _package() -> griffe.Module:
    extensions = griffe.load_extensions(str(ROOT / "docs" / "site" / "reference.py"))
    return cast("griffe.Module", griffe.load("crewgraph", search_paths=[ROOT], extensions=extensions))


def member(path: str, name: str) -> Any:
    """Return the site's entry for a member of a class; None without one."""
    found = _package()[path.removeprefix("crewgraph.")].all_members.get(name)
    return found.final_target if found is not None and found.is_alias else found
