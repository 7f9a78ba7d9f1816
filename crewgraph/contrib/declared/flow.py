"""Flow declarations: the data model of YAML and JSON flow files."""

import json
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field, PrivateAttr, model_validator

from crewgraph.contrib.declared.actions import DeclarationModel, FlowConversationalDefinition, check_expressions
from crewgraph.contrib.declared.method import FlowMethodDefinition, FlowPersistenceDefinition, read_condition
from crewgraph.contrib.declared.names import validate_name
from crewgraph.contrib.declared.state import FlowStateDefinition
from crewgraph.definitions.flow.method import events_of
from crewgraph.errors import DefinitionError
from crewgraph.project.configuration import parse_yaml
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict

_LOG = redacted_logger(__name__)


class FlowConfigDefinition(DeclarationModel):
    """How a flow runs; corresponds to the arguments of `Flow(...)`."""

    tracing: bool | None = None
    stream: bool = False
    memory: PlainDict | None = None
    input_provider: str | None = None
    """Provider of answers to `ask`, as "module:Class"."""

    suppress_flow_events: bool = False
    max_method_calls: int = 100
    defer_trace_finalization: bool = False
    checkpoint: bool | PlainDict | None = None


class FlowDeclaration(DeclarationModel):
    """A declared flow: its state, its methods, and how it runs.

    `Flow.from_declaration` builds a flow from it; `Flow.flow_definition()` describes a class in the same format.
    """

    model_config = ConfigDict(title="FlowDefinition", arbitrary_types_allowed=True, populate_by_name=True)

    schema_: Literal["crewai.flow/v1"] = Field(default="crewai.flow/v1", alias="schema")
    name: str
    description: str | None = None
    state: FlowStateDefinition | None = None
    config: FlowConfigDefinition = Field(default_factory=FlowConfigDefinition)
    persist: FlowPersistenceDefinition | None = None
    conversational: FlowConversationalDefinition | None = None
    methods: dict[str, FlowMethodDefinition] = Field(default_factory=dict)

    _source_path: Path | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _validate_methods(self) -> "FlowDeclaration":
        for name, method in self.methods.items():
            validate_name(name, "the name of a method")
            for key, condition in (("listen", method.listen), ("start", method.start)):
                if not isinstance(condition, str | dict):
                    continue
                if name in events_of(read_condition(condition, f"methods.{name}.{key}")):
                    raise ValueError(
                        f"methods.{name}.{key}: `{name}` triggers itself, so that it would run forever. Rename the method or "
                        "the event."
                    )
            check_expressions(method.do, f"methods.{name}.do")
        log_flow_definition_issues(self)
        return self

    @property
    def source_path(self) -> Path | None:
        """The file that the declaration was read from."""
        return self._source_path

    @property
    def source_dir(self) -> Path | None:
        """The folder of that file, to which paths in the declaration are relative."""
        return self._source_path.parent if self._source_path is not None else None

    @classmethod
    def from_declaration(
        cls, *, contents: "FlowDeclaration | str | PlainDict | None" = None, path: Path | str | None = None
    ) -> "FlowDeclaration":
        """Read a declaration.

        Args:
            contents: YAML or JSON text, its parsed data, or a declaration, which is returned as it is.
            path: A file with such text, read if `contents` is None.

        Raises:
            DefinitionError: If neither argument is given, or the text cannot be parsed.
            FileNotFoundError: If there is no such file.
            ValidationError: If it does not declare a flow; lists all faults.
        """
        if isinstance(contents, FlowDeclaration):
            return contents
        if contents is None and path is None:
            raise DefinitionError("no declaration given; pass `contents` or `path`")
        file = None if contents is not None or path is None else Path(path)
        label = "the declaration" if file is None else str(file)
        source: object = _read(file.read_text(encoding="utf-8"), label) if file is not None else contents
        values = _read(source, label) if isinstance(source, str) else source
        if not isinstance(values, dict):
            raise DefinitionError(f"{label} is not a mapping; a flow needs a `name` and `methods`")
        declared = cls.model_validate(values)
        declared._source_path = file.resolve() if file is not None else None
        return declared

    def to_dict(self, *, exclude_none: bool = True) -> PlainDict:
        """Return the declaration as plain data, which `from_declaration` accepts.

        Args:
            exclude_none: Whether to leave out values that are None.
        """
        return self.model_dump(mode="json", by_alias=True, exclude_none=exclude_none)


def log_flow_definition_issues(definition: FlowDeclaration) -> None:
    """Log a warning for each setting that is probably a mistake."""
    for place, issue in _issues(definition):
        _LOG.warning("flow `%s`, methods.%s: %s", definition.name, place, issue)


def _issues(definition: FlowDeclaration) -> list[tuple[str, str]]:
    issues: list[tuple[str, str]] = []
    for name, method in definition.methods.items():
        feedback = method.human_feedback
        if method.emit and not method.router:
            issues.append((f"{name}.emit", "only a router emits labels; add `router: true`"))
        if feedback is not None and feedback.default_outcome is not None and not feedback.emit:
            issues.append((f"{name}.human_feedback.default_outcome", "it has no effect without `emit`"))
        if feedback is not None and feedback.emit and feedback.default_outcome not in (None, *feedback.emit):
            issues.append((f"{name}.human_feedback.default_outcome", "it is not in `emit`"))
        if not method.is_start and method.listen is None:
            issues.append((name, "nothing triggers it; add `start: true` or `listen`"))
    return issues


def _read(text: str, label: str) -> object:
    """Parse YAML text, which includes JSON."""
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text)
        except ValueError:
            pass  # it may still be a YAML flow mapping
    return parse_yaml(text, label)[1]
