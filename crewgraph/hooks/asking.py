"""A question of a hook to whoever sits at the terminal."""

import sys

from crewgraph.hooks.points import HookAborted

__all__ = ["Asking"]


class Asking:
    """A call that a hook is told of, and may ask a person about."""

    def request_human_input(
        self, prompt: str, default_message: str = "Press Enter to continue, or provide feedback:"
    ) -> str:
        """Ask whoever sits at the terminal; what they type, without spaces around it.

        Raises:
            HookAborted: nobody is there, so nobody has allowed what the hook is called for.
        """
        return _asked(prompt, default_message)


def _asked(prompt: str, default_message: str) -> str:
    try:
        return input(f"\n{prompt}\n{default_message}\n").strip()
    except EOFError:
        where = "the standard input is at its end" if sys.stdin is not None else "there is no standard input"
        raise HookAborted(
            f"a hook asks `{prompt}`, and nobody can answer: {where}. Run it at a terminal, or let a tool ask "
            "(`require_approval`), for which a run can wait."
        ) from None
