"""Rewrite keywords and attributes of older releases: `azure=True`, `output.final_output`, `task.execute()`."""

import ast
import difflib
from collections.abc import Sequence

import libcst

from crewgraph.definitions.base import KEYWORD_HINTS
from crewgraph_compat.moving.features import FeatureKind, accepted_keywords, accepts_any_keyword, is_former_keyword
from crewgraph_compat.moving.names import ATTRIBUTES, KEYWORDS, OF_TEXTS, OUTPUTS, RENAMED, WITHOUT_EFFECT
from crewgraph_compat.moving.rewriting.tree import (
    ExpressionTypes,
    SourceTree,
    make_call,
    resolve_target,
    without_arguments,
)

_ASYNC = ("crewgraph.agent:Agent", "crewgraph.flow.flow:Flow")
_PROVIDERS = ("custom_llm_provider", "provider")
_JSON = '{"type": "json_object"}'


def rewrite_model(reading: SourceTree, call: libcst.Call) -> None:
    """Rewrite former keywords of a model."""
    args = {arg.keyword.value: arg for arg in call.args if arg.keyword is not None}
    dropped_arguments = [*_without_azure(reading, call, args), *_without_format(reading, args)]
    if dropped_arguments:
        reading.change(call, without_arguments(call, dropped_arguments))


def _without_azure(reading: SourceTree, call: libcst.Call, args: dict[str, libcst.Arg]) -> list[libcst.Arg]:
    """Rewrite `LLM(model="x", azure=True)` to `LLM(model="azure/x")`, or to `LLM(model=x, provider="azure")` for a variable."""
    azure = args.get("azure")
    if azure is None:
        return []
    if not isinstance(azure.value, libcst.Name) or azure.value.value not in ("True", "False", "None"):
        reading.note(azure, f"the LLM keyword `azure` is from an older version: {KEYWORDS['LLM', 'azure']}.")
        return []
    if azure.value.value != "True" or any(item in args for item in _PROVIDERS):
        return [azure]
    value = args["model"] if "model" in args else next((arg for arg in call.args if arg.keyword is None), None)
    model = None if value is None or value.star else value.value
    if isinstance(model, libcst.SimpleString) and "/" not in model.value and not model.prefix:
        name = f"{model.quote}azure/{model.raw_value}{model.quote}"
        reading.change(model, lambda updated: updated.with_changes(value=name))
        return [azure]
    if isinstance(model, libcst.SimpleString) and model.raw_value.startswith("azure/"):
        return [azure]
    reading.change(azure, lambda updated: _named(updated, "provider", '"azure"'))
    return []


def _without_format(reading: SourceTree, args: dict[str, libcst.Arg]) -> list[libcst.Arg]:
    """Rewrite `LLM(..., format="json")` to `LLM(..., response_format={"type": "json_object"})`."""
    form = args.get("format")
    if form is None or not isinstance(form.value, libcst.SimpleString) or form.value.evaluated_value != "json":
        return []
    value = args.get("response_format")
    if value is None:
        reading.change(form, lambda updated: _named(updated, "response_format", _JSON))
    elif isinstance(value.value, libcst.Name) and value.value.value == "None":
        reading.change(value, lambda updated: _named(updated, "response_format", _JSON))
    return [] if value is None else [form]


def _named(arg: libcst.Arg, keyword: str, value: str) -> libcst.Arg:
    return arg.with_changes(keyword=libcst.Name(keyword), value=libcst.parse_expression(value))


_CLASSES = {
    "crewgraph.agent:Agent": "Agent",
    "crewgraph.task:Task": "Task",
    "crewgraph.task:ConditionalTask": "ConditionalTask",
    "crewgraph.crew:Crew": "Crew",
    "crewgraph.llm.llm:LLM": "LLM",
}


def rewrite_calls(reading: SourceTree) -> None:
    """Rewrite former keywords of agents, tasks and crews."""
    for call in reading.of(libcst.Call):
        if (built := resolve_target(reading, call.func)) not in _CLASSES:
            continue
        _rewrite_keywords(reading, call, built)
        if _CLASSES[built] == "LLM":
            rewrite_model(reading, call)


def _rewrite_keywords(reading: SourceTree, call: libcst.Call, target: str) -> None:
    named, known = _CLASSES[target], accepted_keywords(target)
    dropped: list[libcst.Arg] = []
    for arg in call.args:
        if arg.keyword is None:
            continue
        word = arg.keyword.value
        if (newer := RENAMED.get((named, word))) is not None:
            if not any(item.keyword is not None and item.keyword.value == newer for item in call.args):
                reading.change(arg.keyword, lambda updated, newer=newer: updated.with_changes(value=newer))
        elif word == "verbose" and word in known:
            _rewrite_number(reading, arg)
        elif _is_without_effect(reading, arg, target):
            dropped.append(arg)
    if dropped:
        reading.change(call, without_arguments(call, dropped))


def _is_without_effect(reading: SourceTree, arg: libcst.Arg, target: str) -> bool:
    """Whether an argument can be removed; a note is added for an unknown one."""
    named, word = _CLASSES[target], str(arg.keyword and arg.keyword.value)
    if (named, word) in WITHOUT_EFFECT:
        return _is_plain(arg.value)
    is_ours = (named, word) in KEYWORDS or _is_known(target, word)
    return not is_ours and _note_unknown(reading, arg, named, accepted_keywords(target))


def _is_known(target: str, word: str) -> bool:
    return word in accepted_keywords(target) or accepts_any_keyword(target) or is_former_keyword(target, word)


def _rewrite_number(reading: SourceTree, arg: libcst.Arg) -> None:
    """Rewrite `verbose=2` to `verbose=True`."""
    if isinstance(arg.value, libcst.Integer):
        truth = libcst.Name(str(bool(int(arg.value.value, 0))))
        reading.change(arg.value, lambda _: truth)


def _note_unknown(reading: SourceTree, arg: libcst.Arg, named: str, known: Sequence[str]) -> bool:
    """Add a note on an unknown keyword; whether it can be removed without any effect."""
    word = str(arg.keyword and arg.keyword.value)
    near = difflib.get_close_matches(word, sorted(known), n=1)
    message = f"`{named}` has no keyword `{word}`, which never had an effect"
    belongs = KEYWORD_HINTS.get(named, {}).get(word)
    hint = "" if belongs is None else f" {belongs}"
    if near:
        reading.note(arg, f"{message}; it was kept. Did you mean `{near[0]}`?")
    elif not _is_plain(arg.value):
        reading.note(arg, f"{message}; it was kept because evaluating its value may have side effects.{hint}")
    else:
        reading.note(arg, f"{message}; it was removed.{hint}")
    return not near and _is_plain(arg.value)


def _is_plain(value: libcst.BaseExpression) -> bool:
    """Whether a value is a name or a literal, which can be removed without side effects."""
    try:
        ast.literal_eval(libcst.Module([]).code_for_node(value))
    except (ValueError, SyntaxError):
        return isinstance(value, libcst.Name) or (isinstance(value, libcst.Attribute) and _is_plain(value.value))
    return True


def rewrite_attributes(reading: SourceTree, known: ExpressionTypes) -> None:
    """Rename former attributes of outputs and tasks where the type of the object is certain."""
    for node in reading.of(libcst.Attribute):
        instead = _instead(reading, node, known)
        if instead is None:
            continue
        if known.may_be_stream(node):
            message = "if this is the output of a crew that does not stream, `result` is a former name; write `raw`."
            reading.note(node, message)
        elif not known.is_sure(node.value):
            reading.note(node, f"if this is an output, `{node.attr.value}` is a former name; write `{instead}`.")
        elif instead.isidentifier():
            reading.change(node, lambda updated, name=instead: updated.with_changes(attr=libcst.Name(name)))
        elif node.attr.value == "execute":
            _execute(reading, node)
        elif node.attr.value in OF_TEXTS:  # methods of its string form, whatever its type
            reading.change(node, lambda updated: updated.with_changes(value=make_call("str", updated.value)))
        elif node.attr.value == "get":
            reading.change(node, lambda updated: updated.with_changes(value=_as_dict(updated.value)))
        else:
            reading.note(node, f"the output attribute `{node.attr.value}` is a former name; write `{instead}`.")


def rewrite_awaited(reading: SourceTree, known: ExpressionTypes) -> None:
    """Rewrite `await flow.kickoff()` and `asyncio.run(flow.kickoff())` to `kickoff_async`; also for agents."""
    for node in reading.of(libcst.Await, libcst.Call):
        if isinstance(node, libcst.Await):
            value = node.expression
        else:
            value = node.args[0].value if node.args and reading.path(node.func) == "asyncio.run" else None
        func = value.func if isinstance(value, libcst.Call) else None
        if not isinstance(func, libcst.Attribute) or func.attr.value != "kickoff" or known.of(func.value) not in _ASYNC:
            continue
        if known.is_sure(func.value):
            reading.change(func, lambda updated: updated.with_changes(attr=libcst.Name("kickoff_async")))
        else:
            reading.note(func, "if this is a flow or an agent, its `kickoff` cannot be awaited; write `kickoff_async`.")


def _as_dict(output: libcst.BaseExpression) -> libcst.Call:
    return libcst.Call(libcst.Attribute(output, libcst.Name("to_dict")))


def _execute(reading: SourceTree, node: libcst.Attribute) -> None:
    """Rewrite `task.execute()`, which returned a string, to `task.execute_sync().raw`."""
    call = reading.parent(node)
    if not isinstance(call, libcst.Call) or call.func is not node:
        reading.note(node, "the task method `execute` is a former name; write `execute_sync(...).raw`.")
        return
    reading.change(node, lambda updated: updated.with_changes(attr=libcst.Name("execute_sync")))
    reading.change(call, lambda updated: libcst.Attribute(updated, libcst.Name("raw")))


def _instead(reading: SourceTree, node: libcst.Attribute, known: ExpressionTypes) -> str | None:
    """Return the replacement of a former attribute name, or None."""
    feature = known.features.get(reading.span(node))
    if feature is None or feature.sort is not FeatureKind.attribute:
        return None
    owner = feature.owner.rpartition(":")[2]
    if owner in OUTPUTS and feature.word in OF_TEXTS:
        return f"str(...).{feature.word}"
    return ATTRIBUTES.get(owner, {}).get(feature.word)
