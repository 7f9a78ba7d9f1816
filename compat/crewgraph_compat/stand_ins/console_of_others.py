"""What happens to servers, memories, plans and remote agents, as panels on the console."""

from typing import Any

from crewgraph.text import shorten
from crewgraph_compat.stand_ins.console_panel import ConsolePanel

__all__ = ["ConsoleOfOthers", "shown_short", "style_of"]

_SHOWN = 500


def style_of(status: str) -> str:
    """The colour for what has become of something."""
    return {"completed": "green", "failed": "red", "error": "red"}.get(status, "yellow")


def shown_short(text: Any) -> str:
    """The beginning of something long."""
    return shorten(str(text), _SHOWN)


class ConsoleOfOthers(ConsolePanel):
    """Tells of what agents work with."""

    def handle_memory_retrieval_started(self) -> None:
        """Memories are looked through."""
        self._tell("Memory", "yellow", {"Status": "looked through"})

    def handle_memory_retrieval_completed(self, memory_content: str, retrieval_time_ms: float) -> None:
        """Something was remembered."""
        self._tell(
            "Memory", "green", {"Found": shown_short(memory_content), "Milliseconds": f"{retrieval_time_ms:.0f}"}
        )

    def handle_memory_query_failed(self, error: str, source_type: str) -> None:
        """A memory could not be read."""
        self._tell("Memory", "red", {"Of": source_type, "Failed": error})

    def handle_memory_save_started(self) -> None:
        """Something is kept."""
        self._tell("Memory", "yellow", {"Status": "keeps something"})

    def handle_memory_save_completed(self, save_time_ms: float, source_type: str) -> None:
        """Something is kept now."""
        self._tell("Memory", "green", {"In": source_type, "Milliseconds": f"{save_time_ms:.0f}"})

    def handle_memory_save_failed(self, error: str, source_type: str) -> None:
        """Something could not be kept."""
        self._tell("Memory", "red", {"In": source_type, "Failed": error})

    def handle_mcp_connection_started(
        self,
        server_name: str,
        server_url: str | None = None,
        transport_type: str | None = None,
        is_reconnect: bool = False,
        connect_timeout: int | None = None,
    ) -> None:
        """A server is called."""
        self._tell(
            "MCP server",
            "yellow",
            {
                "Server": server_name,
                "Address": server_url,
                "Transport": transport_type,
                "Again": is_reconnect or None,
                "Seconds": connect_timeout,
            },
        )

    def handle_mcp_connection_completed(
        self,
        server_name: str,
        server_url: str | None = None,
        transport_type: str | None = None,
        connection_duration_ms: float | None = None,
        is_reconnect: bool = False,
    ) -> None:
        """A server is there."""
        self._tell(
            "MCP server",
            "green",
            {
                "Server": server_name,
                "Address": server_url,
                "Transport": transport_type,
                "Milliseconds": connection_duration_ms,
                "Again": is_reconnect or None,
            },
        )

    def handle_mcp_connection_failed(
        self,
        server_name: str,
        server_url: str | None = None,
        transport_type: str | None = None,
        error: str = "",
        error_type: str | None = None,
        status_code: int | None = None,
    ) -> None:
        """A server is not there."""
        self._tell(
            "MCP server",
            "red",
            {
                "Server": server_name,
                "Address": server_url,
                "Transport": transport_type,
                "Failed": error,
                "Kind": error_type,
                "HTTP status": status_code,
            },
        )

    def handle_mcp_config_fetch_failed(self, slug: str, error: str = "", error_type: str | None = None) -> None:
        """Nothing tells where a server is."""
        self._tell("MCP server", "red", {"Name": slug, "Failed": error, "Kind": error_type})

    def handle_mcp_tool_execution_started(
        self, server_name: str, tool_name: str, tool_args: dict[str, Any] | None = None
    ) -> None:
        """A tool of a server is used."""
        self._tell("MCP tool", "yellow", {"Server": server_name, "Tool": tool_name, "Arguments": tool_args})

    def handle_mcp_tool_execution_failed(
        self,
        server_name: str,
        tool_name: str,
        tool_args: dict[str, Any] | None = None,
        error: str = "",
        error_type: str | None = None,
    ) -> None:
        """A tool of a server has failed."""
        self._tell(
            "MCP tool",
            "red",
            {"Server": server_name, "Tool": tool_name, "Arguments": tool_args, "Failed": error, "Kind": error_type},
        )

    def handle_observation_started(self, agent_role: str, step_number: int, step_description: str) -> None:
        """What came of a step is looked at."""
        self._tell("Step", "yellow", {"Agent": agent_role, "Step": step_number, "Of": step_description})

    def handle_observation_completed(
        self,
        agent_role: str,
        step_number: int,
        step_completed: bool,
        plan_valid: bool,
        key_info: str,
        needs_replan: bool,
        goal_achieved: bool,
    ) -> None:
        """It was looked at."""
        self._tell(
            "Step",
            "green",
            {
                "Agent": agent_role,
                "Step": step_number,
                "Done": step_completed,
                "Plan holds": plan_valid,
                "Found": key_info,
                "New plan": needs_replan or None,
                "Goal reached": goal_achieved or None,
            },
        )

    def handle_observation_failed(self, step_number: int, error: str) -> None:
        """It could not be looked at."""
        self._tell("Step", "red", {"Step": step_number, "Failed": error})

    def handle_plan_refinement(self, step_number: int, refined_count: int, refinements: list[str] | None) -> None:
        """Further steps are worded anew."""
        self._tell(
            "Plan",
            "yellow",
            {"After step": step_number, "Steps": refined_count, "New words": "; ".join(refinements or ())},
        )

    def handle_plan_replan(self, reason: str, replan_count: int, preserved_count: int) -> None:
        """There is a new plan."""
        self._tell("Plan", "yellow", {"Because": reason, "Times": replan_count, "Steps kept": preserved_count})

    def handle_goal_achieved_early(self, steps_completed: int, steps_remaining: int) -> None:
        """The goal is reached before the plan's end."""
        self._tell("Plan", "green", {"Steps done": steps_completed, "Left out": steps_remaining})

    def handle_a2a_delegation_started(
        self, endpoint: str, task_description: str, agent_id: str, is_multiturn: bool = False, turn_number: int = 1
    ) -> None:
        """Work goes to a remote agent."""
        self._tell(
            "Remote agent",
            "yellow",
            {
                "Address": endpoint,
                "Agent": agent_id,
                "Task": task_description,
                "Turn": turn_number if is_multiturn else None,
            },
        )

    def handle_a2a_delegation_completed(
        self, status: str, result: str | None = None, error: str | None = None, is_multiturn: bool = False
    ) -> None:
        """What came of it."""
        self._tell("Remote agent", style_of(status), {"Status": status, "Result": result, "Failed": error})

    def handle_a2a_conversation_started(self, agent_id: str, endpoint: str) -> None:
        """A conversation begins."""
        self._tell("Remote agent", "yellow", {"Agent": agent_id, "Address": endpoint})

    def handle_a2a_message_sent(self, message: str, turn_number: int, agent_role: str | None = None) -> None:
        """A message is sent."""
        self._tell("Remote agent", "yellow", {"Turn": turn_number, "From": agent_role, "Message": message})

    def handle_a2a_response_received(
        self, response: str, turn_number: int, status: str, agent_role: str | None = None
    ) -> None:
        """A message has come."""
        self._tell(
            "Remote agent",
            style_of(status),
            {"Turn": turn_number, "To": agent_role, "Status": status, "Message": response},
        )

    def handle_a2a_conversation_completed(
        self, status: str, final_result: str | None, error: str | None, total_turns: int
    ) -> None:
        """A conversation has ended."""
        self._tell(
            "Remote agent",
            style_of(status),
            {"Status": status, "Turns": total_turns, "Result": final_result, "Failed": error},
        )

    def handle_a2a_polling_started(self, task_id: str, polling_interval: float, endpoint: str) -> None:
        """A remote agent is asked again and again."""
        self._tell("Remote agent", "yellow", {"Task": task_id, "Every seconds": polling_interval, "Address": endpoint})

    def handle_a2a_polling_status(self, task_id: str, state: str, elapsed_seconds: float, poll_count: int) -> None:
        """It was asked again."""
        self._tell(
            "Remote agent",
            "yellow",
            {"Task": task_id, "State": state, "Seconds": f"{elapsed_seconds:.1f}", "Times": poll_count},
        )
