"""Values that CrewAI's modules hold beside their functions: a schema, and phrases of providers."""

from typing import Any, Final

__all__ = ["CONTEXT_LIMIT_ERRORS", "FUNCTION_SCHEMA"]

CONTEXT_LIMIT_ERRORS: Final = [
    "maximum context length",
    "context length exceeded",
    "context_length_exceeded",
    "context window exceeded",
    "maximum prompt length",
    "prompt is too long",
    "input is too long",
    "too many tokens:",
]
"""What providers say of a conversation that is longer than a model can read; `crewgraph.llm.errors` knows more of it."""

_STEP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "step_number": {"type": "integer", "description": "the step's number, from 1"},
        "description": {"type": "string", "description": "what is done"},
        "tool_to_use": {"type": ["string", "null"], "description": "the tool that does it, if one is needed"},
        "depends_on": {"type": "array", "items": {"type": "integer"}, "description": "the steps before it"},
    },
    "required": ["step_number", "description", "tool_to_use", "depends_on"],
    "additionalProperties": False,
}

FUNCTION_SCHEMA: Final[dict[str, Any]] = {
    "type": "function",
    "function": {
        "name": "create_reasoning_plan",
        "description": "Say how the task is going to be done.",
        "parameters": {
            "type": "object",
            "properties": {
                "plan": {"type": "string", "description": "the plan, in a few words"},
                "steps": {"type": "array", "items": _STEP, "description": "its steps"},
                "ready": {"type": "boolean", "description": "whether the work can begin by it"},
            },
            "required": ["plan", "steps", "ready"],
            "additionalProperties": False,
        },
    },
}
"""A plan as a tool for models, in the form of OpenAI's clients."""
