"""Console panels for run events. crewgraph itself prints lines instead; see `verbose`."""

from collections import Counter
from typing import Any, ClassVar

from crewgraph.definitions.agent.last_run import AgentAction
from crewgraph.overrides import overridable
from crewgraph.text import shorten
from crewgraph.tools.failure import ToolFailureReason
from crewgraph_compat.stand_ins.console.panels import ConsolePanel

__all__ = ["ConsoleFormatter"]


_SHOWN = 500


def _style_of(status: str) -> str:
    """Return the color for a status."""
    return {"completed": "green", "failed": "red", "error": "red"}.get(status, "yellow")


def _shortened(text: Any) -> str:
    """Return the beginning of a long text."""
    return shorten(str(text), _SHOWN)


class ConsoleFormatter(ConsolePanel):
    """Print a panel for each event; a program can override its methods, which are then called in each run.

    Args:
        verbose: whether it prints; panels of flows are printed anyway.
    """

    tool_usage_counts: ClassVar[Counter[str]] = Counter()
    """The number of uses of each tool."""

    def handle_crew_started(self, crew_name: str, source_id: str) -> None:
        """Report that a crew has started."""
        self._print_fields("Crew", "cyan", {"Started": crew_name, "ID": source_id})

    def handle_crew_status(
        self, crew_name: str, source_id: str, status: str = "completed", final_string_output: str = ""
    ) -> None:
        """Report the status of a crew."""
        self._print_fields(
            "Crew",
            _style_of(status),
            {"Crew": crew_name, "ID": source_id, "Status": status, "Output": final_string_output},
        )

    def handle_task_started(self, task_id: str, task_name: str | None = None) -> None:
        """Report that a task has started."""
        self._print_fields("Task", "yellow", {"Started": task_name or task_id, "ID": task_id})

    def handle_task_status(
        self, task_id: str, agent_role: str, status: str = "completed", task_name: str | None = None
    ) -> None:
        """Report the status of a task."""
        self._print_fields(
            "Task", _style_of(status), {"Task": task_name or task_id, "Agent": agent_role, "Status": status}
        )

    def handle_crew_test_started(self, crew_name: str, source_id: str, n_iterations: int) -> None:
        """Report that a test has started."""
        self._print_fields("Test", "cyan", {"Crew": crew_name, "ID": source_id, "Rounds": n_iterations})

    def handle_crew_test_completed(self, crew_name: str) -> None:
        """Report that a test has ended."""
        self._print_fields("Test", "green", {"Completed": crew_name})

    def handle_crew_test_failed(self, crew_name: str) -> None:
        """Report that a test has failed."""
        self._print_fields("Test", "red", {"Failed": crew_name})

    def handle_crew_train_started(self, crew_name: str, timestamp: str) -> None:
        """Report that a training has started."""
        self._print_fields("Training", "cyan", {"Crew": crew_name, "Time": timestamp})

    def handle_crew_train_completed(self, crew_name: str, timestamp: str) -> None:
        """Report that a training has ended."""
        self._print_fields("Training", "green", {"Completed": crew_name, "Time": timestamp})

    def handle_crew_train_failed(self, crew_name: str) -> None:
        """Report that a training has failed."""
        self._print_fields("Training", "red", {"Failed": crew_name})

    def handle_agent_logs_started(
        self, agent_role: str, task_description: str | None = None, verbose: bool = False
    ) -> None:
        """Report that an agent has started."""
        self._print_fields("Agent", "magenta", {"Agent": agent_role, "Task": task_description})

    def handle_flow_created(self, flow_name: str, flow_id: str) -> None:
        """Report that a flow was created."""
        self._print_fields("Flow", "cyan", {"Made": flow_name, "ID": flow_id}, is_flow=True)

    def handle_flow_started(self, flow_name: str, flow_id: str) -> None:
        """Report that a flow has started."""
        self._print_fields("Flow", "cyan", {"Started": flow_name, "ID": flow_id}, is_flow=True)

    def handle_flow_status(self, flow_name: str, flow_id: str, status: str = "completed") -> None:
        """Report the status of a flow."""
        self._print_fields(
            "Flow", _style_of(status), {"Flow": flow_name, "ID": flow_id, "Status": status}, is_flow=True
        )

    def handle_method_status(self, method_name: str, status: str = "running") -> None:
        """Report the status of a flow method."""
        self._print_fields("Method", _style_of(status), {"Method": method_name, "Status": status}, is_flow=True)

    def handle_llm_call_failed(self, error: str) -> None:
        """Report that a model request has failed."""
        self._print_fields("Model", "red", {"Failed": error})

    def handle_knowledge_retrieval_started(self) -> None:
        """Report that knowledge retrieval has started."""
        self._print_fields("Knowledge", "yellow", {"Status": "looked up"})

    def handle_knowledge_retrieval_completed(self, retrieved_knowledge: Any, search_query: str) -> None:
        """Report the retrieved knowledge."""
        self._print_fields("Knowledge", "green", {"Asked": search_query, "Found": _shortened(retrieved_knowledge)})

    def handle_knowledge_query_started(self, task_prompt: str) -> None:
        """Report that a knowledge query is being generated."""
        self._print_fields("Knowledge", "yellow", {"Query for": _shortened(task_prompt)})

    def handle_knowledge_query_completed(self) -> None:
        """Report that a knowledge query was generated."""
        self._print_fields("Knowledge", "green", {"Query": "there"})

    def handle_knowledge_query_failed(self, error: str) -> None:
        """Report that no knowledge query could be generated."""
        self._print_fields("Knowledge", "red", {"Query failed": error})

    def handle_knowledge_search_query_failed(self, error: str) -> None:
        """Report that a knowledge search has failed."""
        self._print_fields("Knowledge", "red", {"Search failed": error})

    def handle_reasoning_started(self, attempt: int) -> None:
        """Report that an agent is making a plan."""
        self._print_fields("Plan", "yellow", {"Attempt": attempt})

    def handle_reasoning_completed(self, plan: str, ready: bool) -> None:
        """Report an agent's plan."""
        self._print_fields("Plan", "green", {"Plan": plan, "Ready": ready})

    def handle_reasoning_failed(self, error: str) -> None:
        """Report that planning has failed."""
        self._print_fields("Plan", "red", {"Failed": error})

    def handle_guardrail_started(self, guardrail_name: str, retry_count: int) -> None:
        """Report that a guardrail has started."""
        self._print_fields("Guardrail", "yellow", {"Guardrail": guardrail_name, "Attempt": retry_count + 1})

    def handle_memory_retrieval_started(self) -> None:
        """Report that memory retrieval has started."""
        self._print_fields("Memory", "yellow", {"Status": "looked through"})

    def handle_memory_retrieval_completed(self, memory_content: str, retrieval_time_ms: float) -> None:
        """Report the retrieved memories."""
        self._print_fields(
            "Memory", "green", {"Found": _shortened(memory_content), "Milliseconds": f"{retrieval_time_ms:.0f}"}
        )

    def handle_memory_query_failed(self, error: str, source_type: str) -> None:
        """Report that a memory query has failed."""
        self._print_fields("Memory", "red", {"Of": source_type, "Failed": error})

    def handle_memory_save_started(self) -> None:
        """Report that a memory is being saved."""
        self._print_fields("Memory", "yellow", {"Status": "keeps something"})

    def handle_memory_save_completed(self, save_time_ms: float, source_type: str) -> None:
        """Report that a memory was saved."""
        self._print_fields("Memory", "green", {"In": source_type, "Milliseconds": f"{save_time_ms:.0f}"})

    def handle_memory_save_failed(self, error: str, source_type: str) -> None:
        """Report that saving a memory has failed."""
        self._print_fields("Memory", "red", {"In": source_type, "Failed": error})

    def handle_agent_logs_execution(self, agent_role: str, formatted_answer: Any, verbose: bool = False) -> None:
        """Report an agent's action or answer."""
        if isinstance(formatted_answer, AgentAction):
            step = {"Thought": formatted_answer.thought, "Tool": formatted_answer.tool}
            fields = {**step, "Input": formatted_answer.tool_input, "Result": formatted_answer.result}
        else:
            fields = {"Answer": getattr(formatted_answer, "output", formatted_answer)}
        self._print_fields("Agent", "green", {"Agent": agent_role, **fields})

    def handle_guardrail_completed(self, success: bool, error: str | None, retry_count: int) -> None:
        """Report the outcome of a guardrail."""
        fields = {"Accepted": success, "Because": error, "Attempt": retry_count + 1}
        self._print_fields("Guardrail", "green" if success else "red", fields)

    def handle_llm_stream_chunk(self, accumulated_text: str, call_type: Any = None) -> None:
        """Report a chunk of a streamed answer.

        Args:
            accumulated_text: the answer so far.
            call_type: whether it is a text or a tool call.
        """
        self._grow(accumulated_text, "Answer")

    def handle_llm_stream_completed(self) -> None:
        """Report that a streamed answer is complete."""
        self.pause_live_updates()

    def create_lite_agent_branch(self, lite_agent_role: str) -> None:
        """Report that a standalone agent has started."""
        self._print_fields("Agent", "cyan", {"Started": lite_agent_role})

    def update_lite_agent_status(self, lite_agent_role: str, status: str = "completed", **fields: Any) -> None:
        """Report the status of a standalone agent."""
        self._print_fields("Agent", _style_of(status), {"Agent": lite_agent_role, "Status": status, **fields})

    def handle_lite_agent_execution(
        self, lite_agent_role: str, status: str = "started", error: Any = None, **fields: Any
    ) -> None:
        """Report that a standalone agent has started or ended."""
        shown = {"Agent": lite_agent_role, "Status": status, "Failed": error, **fields}
        self._print_fields("Agent", _style_of(status), shown)

    def handle_llm_tool_usage_started(self, tool_name: str, tool_args: dict[str, Any] | str) -> None:
        """Report that a model has called a tool."""
        self.handle_tool_usage_started(tool_name, tool_args)

    def handle_llm_tool_usage_finished(self, tool_name: str) -> None:
        """Report that a tool called by a model has finished."""
        self._print_fields("Tool", "green", {"Tool": tool_name, "Status": "completed"})

    def handle_llm_tool_usage_error(self, tool_name: str, error: str) -> None:
        """Report that a tool called by a model has failed."""
        self._print_fields("Tool", "red", {"Tool": tool_name, "Failed": error})

    def handle_tool_usage_started(
        self, tool_name: str, tool_args: dict[str, Any] | str = "", run_attempts: int | None = None
    ) -> None:
        """Report that a tool has started."""
        self.tool_usage_counts[tool_name] += 1
        fields = {"Tool": tool_name, "Arguments": tool_args, "Attempt": run_attempts}
        self._print_fields(f"Tool (use {self.tool_usage_counts[tool_name]})", "yellow", fields)

    def handle_tool_usage_finished(self, tool_name: str, output: str, run_attempts: int | None = None) -> None:
        """Report a tool's result."""
        fields = {"Tool": tool_name, "Gave": _shortened(output), "Attempt": run_attempts}
        self._print_fields(f"Tool (use {self.tool_usage_counts[tool_name]})", "green", fields)

    def handle_tool_usage_error(self, tool_name: str, error: str, run_attempts: int | None = None) -> None:
        """Report that a tool has failed."""
        fields = {"Tool": tool_name, "Failed": error, "Attempt": run_attempts}
        self._print_fields(f"Tool (use {self.tool_usage_counts[tool_name]})", "red", fields)

    @staticmethod
    def should_render_failure_panel(failure: Any) -> bool:
        """Return whether a tool failure gets its own panel; exceptions raised by tools are reported already."""
        return getattr(failure, "reason", None) is not ToolFailureReason.EXCEPTION

    @staticmethod
    def should_render_success_panel(failure: Any) -> bool:
        """Return whether a tool result is shown as a success."""
        return failure is None

    def handle_tool_failure_detected(self, tool_name: str, failure: Any, policy: Any) -> None:
        """Report that a tool's result indicates a failure."""
        reason = getattr(failure, "reason", None)
        fields = {"Tool": tool_name, "Kind": getattr(reason, "value", reason)}
        message = getattr(failure, "message", None) or failure
        self._print_fields("Tool", "red", {**fields, "Failed": shorten(str(message), 500), "Policy": policy})


for _one in [*vars(ConsoleFormatter).values(), *vars(ConsolePanel).values()]:
    if callable(_one):
        overridable(_one)
