"""The files that a run is given, noted before it begins."""

from collections.abc import Mapping
from typing import Any, cast

from crewgraph.compiler.flow.run import RUNNING
from crewgraph.core.loops.bridge import in_thread
from crewgraph.core.operations import Operation, Program
from crewgraph.errors import RunError
from crewgraph.files.given import given_files
from crewgraph.files.record import FILES, FileRecord, files_in, recorded

__all__ = ["each_with_files", "inputs_alone", "noted_files", "parted", "with_files"]


class _Note(Operation):
    """Reads files, and says by what they are known again."""

    def __init__(self, given: Any) -> None:
        self._given = given

    def run(self) -> dict[str, FileRecord]:
        return recorded(given_files(self._given))

    async def arun(self) -> dict[str, FileRecord]:
        return await in_thread(self.run)


def noted_files(given: Any) -> Program[dict[str, Any]]:
    """Files as a run keeps them, under the name that its inputs have for them; nothing where there are none.

    Raises:
        ValueError: something is no file, or is not there.
        FileTooLargeError: one is larger than it may be.
    """
    if not given:
        return {}
    return {FILES: (yield _Note(given))}


class _Given(dict[str, Any]):
    """Files among inputs, until the run notes them."""


def with_files(inputs: Mapping[str, Any] | None, files: Any) -> Mapping[str, Any] | None:
    """Inputs with files among them; where none are given, with those of the flow around.

    Raises:
        RunError: there is an input of their name.
        ValueError: something is no file, or is not there.
        FileTooLargeError: one is larger than it may be.
    """
    if not files:
        around = RUNNING.get()
        of_flow = files_in(around.run.inputs) if around is not None else {}
        return {**(inputs or {}), FILES: of_flow} if of_flow and FILES not in (inputs or {}) else inputs
    if inputs and FILES in inputs:
        raise RunError(f"there is an input named `{FILES}`, and files are given, too, which are kept under this name")
    return {**(inputs or {}), FILES: _Given(given_files(files))}


def each_with_files(inputs: Any, files: Any) -> Any:
    """Inputs of several runs, each with the same files among them; what are no inputs stays as it is."""
    if not files or not isinstance(inputs, list | tuple):
        return inputs
    given = given_files(files)
    return [_one_with_files(one, given) for one in cast("list[Any]", inputs)]


def _one_with_files(inputs: Any, files: Any) -> Any:
    return with_files(cast("Mapping[str, Any]", inputs), files) if isinstance(inputs, Mapping) else inputs


def parted(inputs: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """Inputs, and the files that stood among them."""
    found: Any = inputs.get(FILES)
    if isinstance(found, _Given):
        return inputs_alone(inputs), found
    return dict(inputs), None


def inputs_alone(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs without files."""
    has = isinstance(inputs.get(FILES), _Given) or files_in(inputs)
    return {name: value for name, value in inputs.items() if not has or name != FILES}
