"""Console output of runs."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_LISTENERS = "crewgraph_compat.stand_ins.console.listener"

MODULES: dict[str, dict[str, str]] = {
    "crewai.events.event_listener": rows(_LISTENERS, "EventListener", "event_listener"),
    "crewai.events.listeners": {},
    "crewai.events.listeners.memory_listener": rows(_LISTENERS, "MemoryListener"),
    "crewai.events.utils.console_formatter": {
        **rows("crewgraph_compat.stand_ins.console.formatter", "ConsoleFormatter"),
        **rows(
            "crewgraph_compat.stand_ins.console.panels", "set_suppress_console_output", "should_suppress_console_output"
        ),
    },
}
"""The modules of this area."""
