"""Calls of tools that a person has to allow: with the very arguments that are shown, or with others."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crewgraph.compiler.bodies.people import APPROVAL, Asker
from crewgraph.compiler.toolbox import Outcome, Wanted
from crewgraph.core.effects import Body, Call, EffectFailed
from crewgraph.tools.arguments import Refusal

__all__ = ["Wish", "allowed"]

_log = logging.getLogger("crewgraph")

_YES = ("yes", "y", "ok", "okay", "true", "approve", "approved", "allow", "allowed")
_NO = ("no", "n", "false", "deny", "denied", "refuse", "refused", "reject", "rejected")
_SIGNS = " \t\r\n,.:;!-"
_UNREADABLE = 'It is neither yes, nor no and why not, nor other arguments, as {"args": {...}}.'


@dataclass(frozen=True)
class Wish:
    """What came of a model's wish to use a tool: a call to be made, or an outcome already."""

    call: Wanted | None
    outcome: Outcome | None = None
    changed: bool = False
    """Whether a person changed its arguments."""


def allowed(call: Wanted, asker: Asker) -> Body[Wish]:
    """A call as a person allows it, where somebody has to be asked; a refusal is what the model is told."""
    if not (yield from _is_to_be_asked(call)):
        return Wish(call)
    known = yield from _known(call)
    return (yield from _asked(call, asker)) if known is None else Wish(None, known)


def _known(call: Wanted) -> Body[Outcome | None]:
    """What an equal call gave before, where that is kept: nothing is done then that would have to be allowed."""
    tool, args = call.tool, call.args
    if not tool.remembers:
        return None
    return (
        yield Call(function=tool.known, afunction=tool.aknown, args=(args,), name=tool.name, kind="cache", about=args)
    )


def _asked(call: Wanted, asker: Asker) -> Body[Wish]:
    tool, refused = call.tool, None
    while True:
        shown = json.dumps(call.args, ensure_ascii=False, indent=2)
        text = asker.book.slice("asking_approval", agent=asker.agent, tool=tool.name, args=shown)
        said = yield asker.ask(APPROVAL, text, "tools", tool=tool.name, args=call.args, refused=refused)
        verdict = _read(said)
        if verdict is True:
            return Wish(call)
        if isinstance(verdict, dict):
            args = tool.prepare(verdict)
            if not isinstance(args, Refusal):
                return Wish(Wanted(tool, args), changed=args != call.args)
            refused = args.text
        elif isinstance(verdict, str):
            told = asker.book.slice("approval_refused", reason=verdict or "no")
            return Wish(None, Outcome(text=told, failed=True, final=False))
        else:
            refused = f"{said!r:.200} cannot be taken. {_UNREADABLE}"


def _is_to_be_asked(call: Wanted) -> Body[bool]:
    tool, wish = call.tool, call.tool.require_approval
    if isinstance(wish, bool):
        return wish
    try:
        return (
            yield Call(
                function=wish, args=(call.args,), name=tool.name, kind="approval rule", about=call.args, encode=bool
            )
        )
    except EffectFailed as failure:  # who cannot say that it needs no approval has not said so
        _log.warning("`require_approval` of the tool `%s` failed, so somebody is asked: %s", tool.name, failure)
        return True


def _read(said: Any) -> bool | str | dict[str, Any] | None:
    """What an answer means: True allows, a text refuses and says why, a dict holds other arguments, None is no answer."""
    if isinstance(said, bool):
        return said or ""
    if isinstance(said, Mapping):
        return _of_dict(dict(said))  # pyright: ignore[reportUnknownArgumentType]
    return _of_text(said.strip()) if isinstance(said, str) else None


def _of_dict(said: dict[str, Any]) -> bool | str | dict[str, Any] | None:
    if isinstance(said.get("args"), dict) and set(said) <= {"args", "approved"} and said.get("approved", True) is True:
        return said["args"]
    if isinstance(said.get("approved"), bool) and set(said) <= {"approved", "reason"}:
        return said["approved"] or str(said.get("reason") or "")
    return None


def _of_text(said: str) -> bool | str | dict[str, Any] | None:
    if said.startswith("{"):
        try:
            found: Any = json.loads(said)
        except ValueError:
            return None
        return _of_dict(found) if set(found) & {"args", "approved"} else found
    if said.strip(_SIGNS).casefold() in _YES:
        return True
    first = next((one for one in _NO if _begins(said, one)), None)
    return None if first is None else said[len(first) :].strip(_SIGNS)


def _begins(said: str, word: str) -> bool:
    """Whether a text begins with a word."""
    return said.casefold().startswith(word) and (len(said) == len(word) or said[len(word)] in _SIGNS)
