"""Flows declared in YAML or JSON."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from crewgraph.extensions import extension

if TYPE_CHECKING:
    from crewgraph.flow import FlowDeclaration

__all__ = ["FlowDeclarations"]


class FlowDeclarations:
    """Methods that read and write declarations."""

    _declared: ClassVar["FlowDeclaration | None"] = None
    """The declaration that the class was created from, if any."""

    @classmethod
    def from_declaration(
        cls,
        *,
        contents: "FlowDeclaration | str | dict[str, Any] | None" = None,
        path: Path | str | None = None,
        **kwargs: object,
    ) -> Any:
        """Create a flow from a YAML or JSON declaration. Python names in it are imported: load only files that you trust.

        Args:
            contents: YAML or JSON text, its parsed data, or a `FlowDeclaration`.
            path: A file to read if `contents` is None; file names in it are relative to its folder.
            kwargs: Arguments of the flow's constructor, such as `checkpointer`.

        Raises:
            DefinitionError: Neither argument is given, the text cannot be parsed, or a name in it cannot be resolved.
            FileNotFoundError: The file, or that of a crew, does not exist.
            ValidationError: The declaration is invalid; lists all faults.
            ScriptRefused: It contains a script, and `CREWGRAPH_ALLOW_FLOW_SCRIPTS` is not set.
        """
        return extension("declared.flow")(cls, contents, path, kwargs)

    @classmethod
    def flow_definition(cls) -> "FlowDeclaration":
        """Return the flow as a declaration for `from_declaration`: the original one, or one derived from the class."""
        return cls._declared if cls._declared is not None else extension("declared.written")(cls)
