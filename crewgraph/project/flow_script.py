"""Scripts of declared flows: Python from a file, run where the environment allows it and nowhere else."""

import ast
from collections.abc import Callable
from typing import Any

from crewgraph.errors import DefinitionError, ScriptRefused
from crewgraph.settings import flag

__all__ = ["script_of"]

_SWITCHES = ("CREWGRAPH_ALLOW_FLOW_SCRIPTS", "CREWAI_ALLOW_FLOW_SCRIPT_EXECUTION")
_PARAMETERS = "state, outputs, input, item"


def script_of(code: str, place: str) -> Callable[..., Any]:
    """A function of `state`, `outputs`, `input` and `item` with this body.

    Args:
        code: the body.
        place: where it stands, for messages.

    Raises:
        ScriptRefused: scripts are not allowed.
        DefinitionError: it is no Python.
    """
    if not any(map(flag, _SWITCHES)):
        raise ScriptRefused(
            f"{place} is a script, which can do whatever Python can. Where you trust the declaration, set {_SWITCHES[0]}=1; "
            "else write an expression, or a function and `call: code`."
        )
    try:
        module = ast.parse(f"def script({_PARAMETERS}): pass")
        function, body = module.body[0], ast.parse(code).body
        if isinstance(function, ast.FunctionDef) and body:
            function.body = body
        names: dict[str, Any] = {"__name__": "crewgraph_flow_script"}
        exec(compile(module, f"<{place}.code>", "exec"), names)
    except SyntaxError as error:
        raise DefinitionError(f"{place}.code is no Python: {error}") from error
    return names["script"]
