"""The ways in which functions read outputs besides their fields: `output["field"]`, `output.to_dict()`, `output.json`."""

import ast
import re
from collections.abc import Iterator, Sequence

__all__ = ["output_methods"]

_JSON = re.compile(r"\.json\b(?!\s*\()")

_TO_DICT = '''
    def to_dict(self) -> dict[str, Any]:
        """Return the structured output; empty if there is none."""
        return {result}
'''
_ITEM = '''
    def __getitem__(self, field: str) -> Any:
        """Return a field of the structured output."""
        return {result}
'''
_AS_JSON = '''
    @property
    def json(self) -> str:
        """The structured output as JSON."""
        return json.dumps(self.to_dict())
'''


def output_methods(sources: Sequence[str], fields: Sequence[str]) -> tuple[str, list[str]]:
    """Return the methods that an output class needs, and the modules that these use.

    Args:
        sources: The functions that receive outputs.
        fields: The fields of the class that may hold the structure: `pydantic`, `json_dict`.
    """
    has_items = any(_reads_item(text) for text in sources)
    has_json = any(_JSON.search(text) for text in sources)
    if not has_items and not has_json and not any(".to_dict(" in text for text in sources):
        return "", []
    dumped = [f"self.{field}" if field == "json_dict" else f"self.{field}.model_dump()" for field in fields]
    chosen = [f"{value} if self.{field} is not None else" for field, value in zip(fields, dumped, strict=True)]
    methods = _TO_DICT.format(result=" ".join([*chosen, "{}"]))
    if has_items:
        item = "self.to_dict()[field]"
        if "pydantic" in fields:
            item = f"{item} if self.pydantic is None else getattr(self.pydantic, field)"
        methods += _ITEM.format(result=item)
    return methods + (_AS_JSON if has_json else ""), ["json"] if has_json else []


def _reads_item(text: str) -> bool:
    """Whether a source reads an item of a possible output by a constant key."""
    tree = ast.parse(text)
    outputs = {"output", "result"} | {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _is_kickoff(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    outputs |= {
        node.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.arg) and node.annotation is not None and "Output" in ast.unparse(node.annotation)
    }
    return any(
        isinstance(node.value, ast.Name)
        and node.value.id in outputs
        or _is_kickoff(node.value)
        or isinstance(node.value, ast.Subscript)
        and ".tasks_output" in ast.unparse(node.value)
        for node in _subscripts(tree)
    )


def _subscripts(tree: ast.AST) -> Iterator[ast.Subscript]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
            continue
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            yield node


def _is_kickoff(node: ast.expr) -> bool:
    """Whether an expression calls a function that runs a crew or an agent."""
    if isinstance(node, ast.Await):
        node = node.value
    if not isinstance(node, ast.Call):
        return False
    return ast.unparse(node.func).startswith(("kickoff_", "akickoff_", "ask_"))
