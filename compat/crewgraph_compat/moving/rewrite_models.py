"""Former keywords of models: `azure=True`, `format="json"`."""

import libcst

from crewgraph_compat.moving.arguments import without
from crewgraph_compat.moving.former import KEYWORDS
from crewgraph_compat.moving.reading import Reading

__all__ = ["rewrite_model"]

_PROVIDERS = ("custom_llm_provider", "provider")
_JSON = '{"type": "json_object"}'


def rewrite_model(reading: Reading, call: libcst.Call) -> None:
    """Let a model be made as it is today."""
    args = {one.keyword.value: one for one in call.args if one.keyword is not None}
    gone = [*_without_azure(reading, call, args), *_without_format(reading, args)]
    if gone:
        reading.change(call, without(call, gone))


def _without_azure(reading: Reading, call: libcst.Call, args: dict[str, libcst.Arg]) -> list[libcst.Arg]:
    """`LLM(model="x", azure=True)` becomes `LLM(model="azure/x")`, and with any other name `LLM(model=x, provider="azure")`."""
    azure = args.get("azure")
    if azure is None:
        return []
    if not isinstance(azure.value, libcst.Name) or azure.value.value not in ("True", "False", "None"):
        reading.note(azure, f"`azure` of an LLM is of older versions: {KEYWORDS['LLM', 'azure']}.")
        return []
    if azure.value.value != "True" or any(one in args for one in _PROVIDERS):
        return [azure]
    given = args["model"] if "model" in args else next((one for one in call.args if one.keyword is None), None)
    model = None if given is None or given.star else given.value
    if isinstance(model, libcst.SimpleString) and "/" not in model.value and not model.prefix:
        name = f"{model.quote}azure/{model.raw_value}{model.quote}"
        reading.change(model, lambda updated: updated.with_changes(value=name))
        return [azure]
    if isinstance(model, libcst.SimpleString) and model.raw_value.startswith("azure/"):
        return [azure]
    reading.change(azure, lambda updated: _named(updated, "provider", '"azure"'))
    return []


def _without_format(reading: Reading, args: dict[str, libcst.Arg]) -> list[libcst.Arg]:
    """`LLM(..., format="json")` becomes `LLM(..., response_format={"type": "json_object"})`."""
    form = args.get("format")
    if form is None or not isinstance(form.value, libcst.SimpleString) or form.value.evaluated_value != "json":
        return []
    given = args.get("response_format")
    if given is None:
        reading.change(form, lambda updated: _named(updated, "response_format", _JSON))
    elif isinstance(given.value, libcst.Name) and given.value.value == "None":
        reading.change(given, lambda updated: _named(updated, "response_format", _JSON))
    return [] if given is None else [form]


def _named(arg: libcst.Arg, keyword: str, value: str) -> libcst.Arg:
    return arg.with_changes(keyword=libcst.Name(keyword), value=libcst.parse_expression(value))
