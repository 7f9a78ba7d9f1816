"""The arguments of a call, as they are taken out."""

from collections.abc import Callable, Sequence
from typing import Any

import libcst

__all__ = ["without"]


def without(call: libcst.Call, dropped: Sequence[libcst.Arg]) -> Callable[[Any], Any]:
    """The change that takes arguments out of a call."""
    gone = [arg in dropped for arg in call.args]

    def changed(updated: libcst.Call) -> libcst.Call:
        kept: list[libcst.Arg] = []
        for arg, is_gone in zip(updated.args, gone, strict=True):
            if not is_gone:
                kept.append(arg)
            elif kept and _ends_line(arg) and not _ends_line(kept[-1]):
                kept[-1] = kept[-1].with_changes(comma=arg.comma)
        if kept and gone[-1]:
            kept[-1] = kept[-1].with_changes(
                comma=updated.args[-1].comma, whitespace_after_arg=updated.args[-1].whitespace_after_arg
            )
        return updated.with_changes(args=kept)

    return changed


def _ends_line(arg: libcst.Arg) -> bool:
    after = arg.comma.whitespace_after if isinstance(arg.comma, libcst.Comma) else None
    return isinstance(after, libcst.ParenthesizedWhitespace)
