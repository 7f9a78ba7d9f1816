"""Flows and their declarations, as files in YAML or JSON hold them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from crewgraph.extensions import extension

if TYPE_CHECKING:
    from crewgraph.flow import FlowDeclaration

__all__ = ["FlowDeclarations"]


class FlowDeclarations:
    """The verbs of a flow that read and write declarations."""

    _declared: ClassVar["FlowDeclaration | None"] = None
    """Where the class was made of one."""

    @classmethod
    def from_declaration(
        cls,
        *,
        contents: "FlowDeclaration | str | dict[str, Any] | None" = None,
        path: Path | str | None = None,
        **kwargs: Any,
    ) -> Any:
        """A flow of what a file in YAML or JSON declares. Names of Python in it are imported: load only what you trust.

        Args:
            contents: a text in YAML or JSON, what one holds, or a declaration.
            path: a file with such a text, where `contents` is None; names of files in it begin at its folder.
            kwargs: what the flow is given when it is made, as `checkpointer`.

        Raises:
            DefinitionError: nothing is given, the text cannot be read, or a name in it leads nowhere.
            FileNotFoundError: its file is missing, or that of a crew.
            ValidationError: it declares no flow; all faults are told.
            ScriptRefused: it holds a script, and `CREWGRAPH_ALLOW_FLOW_SCRIPTS` is not set.
        """
        return extension("declared.flow")(cls, contents, path, kwargs)

    @classmethod
    def flow_definition(cls) -> "FlowDeclaration":
        """The flow as data, which `from_declaration` takes: what it was made of, or what its class says."""
        return cls._declared if cls._declared is not None else extension("declared.written")(cls)
