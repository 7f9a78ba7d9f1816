"""Keywords that programs give to definitions which never had them, and where each belongs."""

__all__ = ["MISPLACED"]

MISPLACED: dict[str, dict[str, str]] = {
    "Agent": {
        "code_execution_limit": "Write `max_execution_time=` for the seconds that a task may take.",
        "human_input": "Give it to a task: `Task(..., human_input=True)`.",
        "output_json": "Give it to a task: `Task(..., output_json=...)`.",
        "output_pydantic": "Give it to a task: `Task(..., output_pydantic=...)`.",
        "personality": "Write it into `backstory=`.",
        "system_message": "Write it into `backstory=`, or give a `system_template=`.",
        "tool": "Write `tools=[...]`.",
    },
    "Crew": {
        "callbacks": "Write `task_callback=` or `step_callback=`, one function each.",
        "context": "Give tasks to a task: `Task(..., context=[...])`; values to a run: `kickoff(inputs={...})`.",
        "knowledge_config": "Give it to the agents: `Agent(..., knowledge_config=...)`.",
        "llm": "Give it to the agents: `Agent(..., llm=...)`.",
        "manager": "Write `manager_agent=`, with `process=Process.hierarchical`.",
        "max_execution_time": "Write `max_seconds=`, the seconds that a run may take.",
        "max_iter": "Give it to the agents: `Agent(..., max_iter=...)`.",
        "processes": "Write `process=`.",
        "tools": "Give them to the agents: `Agent(..., tools=[...])`.",
    },
    "Task": {
        "allow_code_execution": "Give it to the agent: `Agent(..., allow_code_execution=True)`.",
        "code_execution_mode": "Give it to the agent: `Agent(..., code_execution_mode=...)`.",
        "dependencies": "Write `context=[...]`.",
        "inputs": "Give values to a run: `kickoff(inputs={...})`.",
        "llm": "Give it to the agent: `Agent(..., llm=...)`.",
        "markdowns": "Write `markdown=`.",
        "max_iter": "Give it to the agent: `Agent(..., max_iter=...)`.",
        "max_retry_limit": "Write `guardrail_max_retries=`, or give it to the agent.",
        "postprocess": "Write `callback=`, a function of the output.",
        "timeout": "Write `max_execution_time=`, in seconds.",
        "verbose": "Give it to the agent or the crew: `Crew(..., verbose=True)`.",
    },
}
"""A definition's class to keywords that it has not, each to what to write instead."""
