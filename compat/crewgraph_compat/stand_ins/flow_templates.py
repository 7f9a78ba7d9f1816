"""What models are told of the texts with expressions in declared flows."""

from typing import Final

__all__ = [
    "FLOW_TEMPLATE_EXPRESSION_CONTRACT",
    "FLOW_TEMPLATE_EXPRESSION_EXAMPLES",
    "FLOW_TEMPLATE_EXPRESSION_RULES",
    "flow_template_expression_description",
]

FLOW_TEMPLATE_EXPRESSION_RULES: Final[tuple[str, ...]] = (
    "Texts of this mapping may hold CEL between `${` and `}`, as in `Port: ${state.port}`.",
    "`state` is what the flow was given and has set; `outputs.name` is what the method `name` returned.",
    "Write plain text outside of `${...}`, and each value by itself; do not join texts with `+`.",
    "A text that is one `${...}` becomes the value itself, be it a number, a list or an object.",
    "In any other text, values that are no text are written as JSON, and null as nothing.",
)
"""How they are written."""

FLOW_TEMPLATE_EXPRESSION_CONTRACT: Final[str] = " ".join(FLOW_TEMPLATE_EXPRESSION_RULES)
"""The same as one text."""

FLOW_TEMPLATE_EXPRESSION_EXAMPLES: Final[dict[str, tuple[dict[str, str], ...]]] = {
    "yaml": (
        {"title": "A value in a text", "code": 'question: "How deep is ${state.port}?"'},
        {"title": "Values that stay what they are", "code": 'ports: "${state.ports}"\nmost: "${state.most}"'},
    ),
    "json": (
        {"title": "A value in a text", "code": '{\n  "question": "How deep is ${state.port}?"\n}'},
        {
            "title": "Values that stay what they are",
            "code": '{\n  "ports": "${state.ports}",\n  "most": "${state.most}"\n}',
        },
    ),
}
"""Examples, by the language of the file."""


def flow_template_expression_description(prefix: str) -> str:
    """A field's description with the rules behind it."""
    return f"{prefix} {FLOW_TEMPLATE_EXPRESSION_CONTRACT}"
