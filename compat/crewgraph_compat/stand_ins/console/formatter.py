"""What happens in runs, as panels on the console; by itself crewgraph prints lines, see `verbose`."""

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
    """The colour for what has become of something."""
    return {"completed": "green", "failed": "red", "error": "red"}.get(status, "yellow")


def _shortened(text: Any) -> str:
    """The beginning of something long."""
    return shorten(str(text), _SHOWN)


class ConsoleFormatter(ConsolePanel):
    """Prints a panel for whatever it is told; a program's own version of a method is called in each run.

    Args:
        verbose: whether it prints; panels of flows are printed anyway.
    """

    tool_usage_counts: ClassVar[Counter[str]] = Counter()
    """How often each tool was used."""

    def handle_crew_started(self, crew_name: str, source_id: str) -> None:
        """A crew begins."""
        self._tell("Crew", "cyan", {"Started": crew_name, "ID": source_id})

    def handle_crew_status(
        self, crew_name: str, source_id: str, status: str = "completed", final_string_output: str = ""
    ) -> None:
        """What has become of a crew."""
        self._tell(
            "Crew",
            _style_of(status),
            {"Crew": crew_name, "ID": source_id, "Status": status, "Output": final_string_output},
        )

    def handle_task_started(self, task_id: str, task_name: str | None = None) -> None:
        """A task begins."""
        self._tell("Task", "yellow", {"Started": task_name or task_id, "ID": task_id})

    def handle_task_status(
        self, task_id: str, agent_role: str, status: str = "completed", task_name: str | None = None
    ) -> None:
        """What has become of a task."""
        self._tell("Task", _style_of(status), {"Task": task_name or task_id, "Agent": agent_role, "Status": status})

    def handle_crew_test_started(self, crew_name: str, source_id: str, n_iterations: int) -> None:
        """A test begins."""
        self._tell("Test", "cyan", {"Crew": crew_name, "ID": source_id, "Rounds": n_iterations})

    def handle_crew_test_completed(self, crew_name: str) -> None:
        """A test has ended."""
        self._tell("Test", "green", {"Completed": crew_name})

    def handle_crew_test_failed(self, crew_name: str) -> None:
        """A test has failed."""
        self._tell("Test", "red", {"Failed": crew_name})

    def handle_crew_train_started(self, crew_name: str, timestamp: str) -> None:
        """A training begins."""
        self._tell("Training", "cyan", {"Crew": crew_name, "Time": timestamp})

    def handle_crew_train_completed(self, crew_name: str, timestamp: str) -> None:
        """A training has ended."""
        self._tell("Training", "green", {"Completed": crew_name, "Time": timestamp})

    def handle_crew_train_failed(self, crew_name: str) -> None:
        """A training has failed."""
        self._tell("Training", "red", {"Failed": crew_name})

    def handle_agent_logs_started(
        self, agent_role: str, task_description: str | None = None, verbose: bool = False
    ) -> None:
        """An agent begins."""
        self._tell("Agent", "magenta", {"Agent": agent_role, "Task": task_description})

    def handle_flow_created(self, flow_name: str, flow_id: str) -> None:
        """There is a flow."""
        self._tell("Flow", "cyan", {"Made": flow_name, "ID": flow_id}, is_flow=True)

    def handle_flow_started(self, flow_name: str, flow_id: str) -> None:
        """A flow begins."""
        self._tell("Flow", "cyan", {"Started": flow_name, "ID": flow_id}, is_flow=True)

    def handle_flow_status(self, flow_name: str, flow_id: str, status: str = "completed") -> None:
        """What has become of a flow."""
        self._tell("Flow", _style_of(status), {"Flow": flow_name, "ID": flow_id, "Status": status}, is_flow=True)

    def handle_method_status(self, method_name: str, status: str = "running") -> None:
        """What has become of a method of a flow."""
        self._tell("Method", _style_of(status), {"Method": method_name, "Status": status}, is_flow=True)

    def handle_llm_call_failed(self, error: str) -> None:
        """A request has failed."""
        self._tell("Model", "red", {"Failed": error})

    def handle_knowledge_retrieval_started(self) -> None:
        """Knowledge is looked up."""
        self._tell("Knowledge", "yellow", {"Status": "looked up"})

    def handle_knowledge_retrieval_completed(self, retrieved_knowledge: Any, search_query: str) -> None:
        """Something was found."""
        self._tell("Knowledge", "green", {"Asked": search_query, "Found": _shortened(retrieved_knowledge)})

    def handle_knowledge_query_started(self, task_prompt: str) -> None:
        """A model is asked what to look for."""
        self._tell("Knowledge", "yellow", {"Query for": _shortened(task_prompt)})

    def handle_knowledge_query_completed(self) -> None:
        """A model has said what to look for."""
        self._tell("Knowledge", "green", {"Query": "there"})

    def handle_knowledge_query_failed(self, error: str) -> None:
        """A model could not say what to look for."""
        self._tell("Knowledge", "red", {"Query failed": error})

    def handle_knowledge_search_query_failed(self, error: str) -> None:
        """Nothing could be looked up."""
        self._tell("Knowledge", "red", {"Search failed": error})

    def handle_reasoning_started(self, attempt: int) -> None:
        """An agent makes a plan."""
        self._tell("Plan", "yellow", {"Attempt": attempt})

    def handle_reasoning_completed(self, plan: str, ready: bool) -> None:
        """It has made one."""
        self._tell("Plan", "green", {"Plan": plan, "Ready": ready})

    def handle_reasoning_failed(self, error: str) -> None:
        """It could make none."""
        self._tell("Plan", "red", {"Failed": error})

    def handle_guardrail_started(self, guardrail_name: str, retry_count: int) -> None:
        """An answer is judged."""
        self._tell("Guardrail", "yellow", {"Guardrail": guardrail_name, "Attempt": retry_count + 1})

    def handle_memory_retrieval_started(self) -> None:
        """Memories are looked through."""
        self._tell("Memory", "yellow", {"Status": "looked through"})

    def handle_memory_retrieval_completed(self, memory_content: str, retrieval_time_ms: float) -> None:
        """Something was remembered."""
        self._tell("Memory", "green", {"Found": _shortened(memory_content), "Milliseconds": f"{retrieval_time_ms:.0f}"})

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

    def handle_agent_logs_execution(self, agent_role: str, formatted_answer: Any, verbose: bool = False) -> None:
        """An agent has used a tool, or answered."""
        if isinstance(formatted_answer, AgentAction):
            step = {"Thought": formatted_answer.thought, "Tool": formatted_answer.tool}
            fields = {**step, "Input": formatted_answer.tool_input, "Result": formatted_answer.result}
        else:
            fields = {"Answer": getattr(formatted_answer, "output", formatted_answer)}
        self._tell("Agent", "green", {"Agent": agent_role, **fields})

    def handle_guardrail_completed(self, success: bool, error: str | None, retry_count: int) -> None:
        """An answer was judged."""
        fields = {"Accepted": success, "Because": error, "Attempt": retry_count + 1}
        self._tell("Guardrail", "green" if success else "red", fields)

    def handle_llm_stream_chunk(self, accumulated_text: str, call_type: Any = None) -> None:
        """A piece of an answer has come.

        Args:
            accumulated_text: the answer so far.
            call_type: whether it is a text or a tool call.
        """
        self._grow(accumulated_text, "Answer")

    def handle_llm_stream_completed(self) -> None:
        """The answer is whole."""
        self.pause_live_updates()

    def create_lite_agent_branch(self, lite_agent_role: str) -> None:
        """An agent of its own begins."""
        self._tell("Agent", "cyan", {"Started": lite_agent_role})

    def update_lite_agent_status(self, lite_agent_role: str, status: str = "completed", **fields: Any) -> None:
        """What has become of an agent of its own."""
        self._tell("Agent", _style_of(status), {"Agent": lite_agent_role, "Status": status, **fields})

    def handle_lite_agent_execution(
        self, lite_agent_role: str, status: str = "started", error: Any = None, **fields: Any
    ) -> None:
        """An agent of its own begins, or has ended."""
        told = {"Agent": lite_agent_role, "Status": status, "Failed": error, **fields}
        self._tell("Agent", _style_of(status), told)

    def handle_llm_tool_usage_started(self, tool_name: str, tool_args: dict[str, Any] | str) -> None:
        """A model has a tool used."""
        self.handle_tool_usage_started(tool_name, tool_args)

    def handle_llm_tool_usage_finished(self, tool_name: str) -> None:
        """It was used."""
        self._tell("Tool", "green", {"Tool": tool_name, "Status": "completed"})

    def handle_llm_tool_usage_error(self, tool_name: str, error: str) -> None:
        """It has failed."""
        self._tell("Tool", "red", {"Tool": tool_name, "Failed": error})

    def handle_tool_usage_started(
        self, tool_name: str, tool_args: dict[str, Any] | str = "", run_attempts: int | None = None
    ) -> None:
        """A tool is used."""
        self.tool_usage_counts[tool_name] += 1
        fields = {"Tool": tool_name, "Arguments": tool_args, "Attempt": run_attempts}
        self._tell(f"Tool (use {self.tool_usage_counts[tool_name]})", "yellow", fields)

    def handle_tool_usage_finished(self, tool_name: str, output: str, run_attempts: int | None = None) -> None:
        """A tool has given something."""
        fields = {"Tool": tool_name, "Gave": _shortened(output), "Attempt": run_attempts}
        self._tell(f"Tool (use {self.tool_usage_counts[tool_name]})", "green", fields)

    def handle_tool_usage_error(self, tool_name: str, error: str, run_attempts: int | None = None) -> None:
        """A tool has failed."""
        fields = {"Tool": tool_name, "Failed": error, "Attempt": run_attempts}
        self._tell(f"Tool (use {self.tool_usage_counts[tool_name]})", "red", fields)

    @staticmethod
    def should_render_failure_panel(failure: Any) -> bool:
        """Whether a tool's failure is shown as one; what a tool raised is told of already."""
        return getattr(failure, "reason", None) is not ToolFailureReason.EXCEPTION

    @staticmethod
    def should_render_success_panel(failure: Any) -> bool:
        """Whether what a tool gave is shown: nothing in it says that it has failed."""
        return failure is None

    def handle_tool_failure_detected(self, tool_name: str, failure: Any, policy: Any) -> None:
        """What a tool gave says that it has failed."""
        reason = getattr(failure, "reason", None)
        fields = {"Tool": tool_name, "Kind": getattr(reason, "value", reason)}
        message = getattr(failure, "message", None) or failure
        self._tell("Tool", "red", {**fields, "Failed": shorten(str(message), 500), "Policy": policy})


for _one in [*vars(ConsoleFormatter).values(), *vars(ConsolePanel).values()]:
    if callable(_one):
        overridable(_one)
