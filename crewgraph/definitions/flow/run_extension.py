"""Runs of a flow that an extension takes part in, because it was given an input that the extension reads."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from crewgraph.core.files import FILES, files_in
from crewgraph.extensions import extension

__all__ = ["RESERVED_INPUTS", "RunExtension", "plain_inputs", "run_extension"]

RESERVED_INPUTS: Final[Mapping[str, str]] = {":turn": "conversations.turns"}
"""Inputs that are neither fields of the state nor parameters of methods (no parameter can have such a name), each with the
extension that reads it."""


class RunExtension(Protocol):
    """What an extension does in a run that has its input."""

    def state_before(self, flow: Any, shown: Any, inputs: Mapping[str, Any]) -> Any:
        """The state that a new run takes over; None for `shown`, the one that the flow's object shows."""

    def begin(self, flow: Any, state: Any, inputs: Mapping[str, Any]) -> None:
        """Change the state that a run begins with."""

    def end(self, flow: Any, state: Any, value: Any) -> None:
        """Change the state that a run ends with, before it is kept; `value` is what the last method returned."""

    def replaces(self, run: Any, values: Mapping[str, Any]) -> bool:
        """Whether a new run leaves aside the unfinished one that is kept under its `id` as the graph's state `values`."""
        ...

    def started(self, run: Any) -> None:
        """A run begins, or is resumed: its first event was emitted."""

    def finished(self, run: Any) -> None:
        """A run has returned."""

    def failed(self, run: Any, error: BaseException) -> None:
        """A run has failed."""


def run_extension(inputs: Mapping[str, Any]) -> RunExtension | None:
    """The extension that reads one of the inputs; None for a run of the flow alone."""
    for name, reader in RESERVED_INPUTS.items():
        if name in inputs:
            return extension(reader)
    return None


def plain_inputs(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs that are fields of the state or parameters of methods."""
    apart = (*RESERVED_INPUTS, FILES) if files_in(inputs) else RESERVED_INPUTS
    return {name: value for name, value in inputs.items() if name not in apart}
