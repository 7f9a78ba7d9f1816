"""Extension points: objects in `crewgraph.contrib` that are imported when a definition uses them."""

import importlib
from functools import cache
from typing import Any, Final

EXTENSIONS: Final[dict[str, str]] = {
    "a2a": "crewgraph.contrib.a2a.capability:RemoteAgentsCapability",
    "a2a.read": "crewgraph.contrib.a2a.config:read_remotes",
    "files": "crewgraph.contrib.files.agent_files:AgentFiles",
    "files.expand": "crewgraph.contrib.files.record:expand",
    "files.read": "crewgraph.contrib.files.file:read_input_files",
    "files.record": "crewgraph.contrib.files.record:record_files",
    "serve.app": "crewgraph.contrib.serve.app:serve_app",
    "serve.limits": "crewgraph.contrib.serve.guard:LIMITS",
    "serve.postgres": "crewgraph.contrib.serve.postgres:opened_postgres",
    "serve.records": "crewgraph.contrib.serve.records:opened_records",
    "serve.worker": "crewgraph.contrib.serve.streams:WorkerRuns",
    "skills": "crewgraph.contrib.skills.capability:SkillsCapability",
    "skills.read": "crewgraph.contrib.skills.discovery:merged_skills",
    "middleware.check": "crewgraph.contrib.middleware.checks:check_middleware",
    "middleware.loop": "crewgraph.contrib.middleware.loop:middleware_loop",
    "conversations": "crewgraph.contrib.conversations.conversation",
    "conversations.crew": "crewgraph.contrib.conversations.crew_chat:CrewChat",
    "conversations.crew_terminal": "crewgraph.contrib.conversations.crew_chat:chat_at_terminal",
    "conversations.history": "crewgraph.contrib.conversations.crew_chat:with_history",
    "conversations.messages": "crewgraph.contrib.conversations.messages",
    "conversations.methods": "crewgraph.contrib.conversations.state:conversation_methods",
    "conversations.state": "crewgraph.contrib.conversations.state:ConversationState",
    "conversations.turns": "crewgraph.contrib.conversations.messages:TURNS",
    "declared.flow": "crewgraph.contrib.declared.flow_class:flow_from_declaration",
    "declared.written": "crewgraph.contrib.declared.written:declaration_of",
    "queue": "crewgraph.contrib.queue.queue:Queue",
    "queue.for": "crewgraph.contrib.queue.queue:queue_for",
    "queue.worker": "crewgraph.contrib.queue.worker:QueueWorker",
    "snapshots.agent_kickoff": "crewgraph.contrib.snapshots.recording:agent_kickoff",
    "snapshots.config": "crewgraph.contrib.snapshots.config:CheckpointConfig",
    "snapshots.crew_observer": "crewgraph.contrib.snapshots.recording:record_crew",
    "snapshots.flow_observer": "crewgraph.contrib.snapshots.recording:record_flow",
    "snapshots.restore": "crewgraph.contrib.snapshots.restore:restore",
    "snapshots.restore_into": "crewgraph.contrib.snapshots.restore:restore_into",
    "snapshots.saver": "crewgraph.contrib.snapshots.recording:run_saver",
}
"""The location of each extension by name: "module:attribute", or "module"."""


@cache
def extension(name: str) -> Any:
    """Import an extension by its name in `EXTENSIONS`."""
    module, _, attribute = EXTENSIONS[name].partition(":")
    found = importlib.import_module(module)
    return getattr(found, attribute) if attribute else found
