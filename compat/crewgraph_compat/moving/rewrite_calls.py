"""Keywords that newer versions have under other names, or that no version ever had."""

import ast
import difflib
from collections.abc import Sequence

import libcst

from crewgraph.definitions.base import KEYWORD_HINTS
from crewgraph_compat.moving.arguments import without
from crewgraph_compat.moving.class_bases import target_of
from crewgraph_compat.moving.classes import is_former, keywords, takes_any
from crewgraph_compat.moving.former import KEYWORDS, RENAMED, WITHOUT_EFFECT
from crewgraph_compat.moving.reading import Reading
from crewgraph_compat.moving.rewrite_models import rewrite_model

__all__ = ["rewrite_calls"]

_CLASSES = {
    "crewgraph.definitions.agent.agent:Agent": "Agent",
    "crewgraph.definitions.task.task:Task": "Task",
    "crewgraph.definitions.task.task:ConditionalTask": "ConditionalTask",
    "crewgraph.definitions.crew.crew:Crew": "Crew",
    "crewgraph.llm.llm:LLM": "LLM",
}


def rewrite_calls(reading: Reading) -> None:
    """Let what makes agents, tasks and crews be called as it is today."""
    for call in reading.of(libcst.Call):
        if (made := target_of(reading, call.func)) not in _CLASSES:
            continue
        _rewrite_keywords(reading, call, made)
        if _CLASSES[made] == "LLM":
            rewrite_model(reading, call)


def _rewrite_keywords(reading: Reading, call: libcst.Call, target: str) -> None:
    named, known = _CLASSES[target], keywords(target)
    dropped: list[libcst.Arg] = []
    for arg in call.args:
        if arg.keyword is None:
            continue
        word = arg.keyword.value
        if (newer := RENAMED.get((named, word))) is not None:
            if not any(one.keyword is not None and one.keyword.value == newer for one in call.args):
                reading.change(arg.keyword, lambda updated, newer=newer: updated.with_changes(value=newer))
        elif word == "verbose" and word in known:
            _rewrite_number(reading, arg)
        elif _is_without_effect(reading, arg, target):
            dropped.append(arg)
    if dropped:
        reading.change(call, without(call, dropped))


def _is_without_effect(reading: Reading, arg: libcst.Arg, target: str) -> bool:
    """Whether an argument can be left out; one that nobody knows is told."""
    named, word = _CLASSES[target], str(arg.keyword and arg.keyword.value)
    if (named, word) in WITHOUT_EFFECT:
        return _is_plain(arg.value)
    is_ours = (named, word) in KEYWORDS or _is_known(target, word)
    return not is_ours and _tell_unknown(reading, arg, named, keywords(target))


def _is_known(target: str, word: str) -> bool:
    return word in keywords(target) or takes_any(target) or is_former(target, word)


def _rewrite_number(reading: Reading, arg: libcst.Arg) -> None:
    """`verbose=2` becomes `verbose=True`."""
    if isinstance(arg.value, libcst.Integer):
        truth = libcst.Name(str(bool(int(arg.value.value, 0))))
        reading.change(arg.value, lambda _: truth)


def _tell_unknown(reading: Reading, arg: libcst.Arg, named: str, known: Sequence[str]) -> bool:
    """Tell of a keyword that nobody knows; whether it can be left out without any effect."""
    word = str(arg.keyword and arg.keyword.value)
    near = difflib.get_close_matches(word, sorted(known), n=1)
    what = f"`{named}` has no keyword `{word}`, which never had an effect"
    belongs = KEYWORD_HINTS.get(named, {}).get(word)
    hint = "" if belongs is None else f" {belongs}"
    if near:
        reading.note(arg, f"{what}; it stays. Is `{near[0]}` meant?")
    elif not _is_plain(arg.value):
        reading.note(arg, f"{what}; it stays, as its value may do something.{hint}")
    else:
        reading.note(arg, f"{what}; it was taken out.{hint}")
    return not near and _is_plain(arg.value)


def _is_plain(value: libcst.BaseExpression) -> bool:
    """Whether a value can be left out: a name or a literal, which does nothing."""
    try:
        ast.literal_eval(libcst.Module([]).code_for_node(value))
    except (ValueError, SyntaxError):
        return isinstance(value, libcst.Name) or (isinstance(value, libcst.Attribute) and _is_plain(value.value))
    return True
