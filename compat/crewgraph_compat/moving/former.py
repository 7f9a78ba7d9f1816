"""What older programs write otherwise, and what to write instead: it works, and a run tells it once."""

__all__ = ["ATTRIBUTES", "FULL_OUTPUT", "KEYWORDS", "OF_TEXTS", "OUTPUTS", "RENAMED", "WITHOUT_EFFECT"]

_OUTPUT = {
    **dict.fromkeys(("final_output", "output", "raw_output", "result"), "raw"),
    "exported_output": "pydantic, json_dict or raw",
    "get": "to_dict().get",
}

ATTRIBUTES: dict[str, dict[str, str]] = {
    "CrewOutput": _OUTPUT,
    "TaskOutput": _OUTPUT,
    "ConditionalTask": {"execute": "execute_sync(...).raw"},
    "Task": {"execute": "execute_sync(...).raw"},
}
"""Former names of what objects have, by their classes, each to what stands in its place."""

OF_TEXTS = frozenset(
    {
        "encode",
        "endswith",
        "find",
        "lower",
        "lstrip",
        "replace",
        "rstrip",
        "split",
        "splitlines",
        "startswith",
        "strip",
        "upper",
    }
)
"""Methods of texts, for which older programs take outputs."""

OUTPUTS = ("CrewOutput", "TaskOutput")
"""What crews and tasks give back."""

FULL_OUTPUT = {"final_output": "raw", "tasks_outputs": "tasks_output"}
"""What the output of a crew with `full_output=True` was asked for, to what stands in its place."""

KEYWORDS: dict[tuple[str, str], str] = {
    ("LLM", "azure"): 'write the provider before the name, `LLM(model="azure/<deployment>")`',
    ("LLM", "format"): 'write `response_format={"type": "json_object"}`',
}
"""Former keywords of models, to what stands in their place."""

WITHOUT_EFFECT = frozenset({("Crew", "full_output")})
"""Former keywords, by class, that are left out."""

RENAMED: dict[tuple[str, str], str] = {
    ("ConditionalTask", "max_retries"): "guardrail_max_retries",
    ("Task", "max_retries"): "guardrail_max_retries",
}
"""Former keywords, by class, to those of today."""
