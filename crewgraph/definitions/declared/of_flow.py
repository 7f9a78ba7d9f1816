"""Between flows and their declarations."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from crewgraph.definitions.declared.flow import FlowDeclaration
from crewgraph.definitions.declared.written import declaration_of
from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.definitions.flow.flow import Flow
    from crewgraph.runtime.declared import made
else:
    made = lazy("crewgraph.runtime.declared:made")

__all__ = ["FlowDeclarations"]


class FlowDeclarations:
    """What a flow has to do with declarations."""

    _declared: ClassVar[FlowDeclaration | None] = None
    """Where the class was made of one."""

    @classmethod
    def from_declaration(
        cls,
        *,
        contents: FlowDeclaration | str | dict[str, Any] | None = None,
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
        declared = FlowDeclaration.from_declaration(contents=contents, path=path)
        return made(declared, cast("type[Flow[Any]]", cls), kwargs)

    @classmethod
    def flow_definition(cls) -> FlowDeclaration:
        """The flow as data, which `from_declaration` takes: what it was made of, or what its class says."""
        return cls._declared if cls._declared is not None else declaration_of(cls)
