"""A flow as data, in the form that files in YAML and JSON have."""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, PrivateAttr, model_validator

from crewgraph.contrib.declared.actions import check_expressions
from crewgraph.contrib.declared.config import FlowConversationalDefinition, KnowsItsKeys
from crewgraph.contrib.declared.method import FlowMethodDefinition, FlowPersistenceDefinition, condition_of
from crewgraph.contrib.declared.names import checked_name
from crewgraph.contrib.declared.skill import authoring_skill
from crewgraph.contrib.declared.state import FlowStateDefinition
from crewgraph.definitions.flow.method import events_of
from crewgraph.errors import DefinitionError
from crewgraph.extras import load

__all__ = ["FlowConfigDefinition", "FlowDeclaration", "log_flow_definition_issues"]

_LOG = logging.getLogger(__name__)


class FlowConfigDefinition(KnowsItsKeys):
    """How a flow is run; what `Flow(...)` is given elsewhere."""

    tracing: bool | None = None
    stream: bool = False
    memory: dict[str, Any] | None = None
    input_provider: str | None = None
    """Who answers `ask`: a class, as "module:Class"."""

    suppress_flow_events: bool = False
    max_method_calls: int = 100
    defer_trace_finalization: bool = False
    checkpoint: bool | dict[str, Any] | None = None


class FlowDeclaration(KnowsItsKeys):
    """A flow: its state, its methods, and how it is run.

    `Flow.from_declaration` makes a flow of it; `Flow.flow_definition()` tells a class in its words.
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
    def _validate_method_names(self) -> "FlowDeclaration":
        for name in self.methods:
            checked_name(name, "the name of a method")
        return self

    @model_validator(mode="after")
    def _validate_trigger_namespace(self) -> "FlowDeclaration":
        for name, method in self.methods.items():
            for key, given in (("listen", method.listen), ("start", method.start)):
                if isinstance(given, str | dict) and name in events_of(condition_of(given, f"methods.{name}.{key}")):
                    raise ValueError(
                        f"methods.{name}.{key}: `{name}` is its own name, so that it would run for ever. Name the method or "
                        "the event otherwise."
                    )
        return self

    @model_validator(mode="after")
    def _validate_cel_expressions(self) -> "FlowDeclaration":
        for name, method in self.methods.items():
            check_expressions(method.do, f"methods.{name}.do")
        return self

    def model_post_init(self, context: Any) -> None:
        """Tell of what can hardly be meant."""
        super().model_post_init(context)
        log_flow_definition_issues(self)

    @property
    def source_path(self) -> Path | None:
        """The file that it was read from."""
        return self._source_path

    @property
    def source_dir(self) -> Path | None:
        """The folder of that file, which its own names of files begin at."""
        return self._source_path.parent if self._source_path is not None else None

    @classmethod
    def from_declaration(
        cls, *, contents: "FlowDeclaration | str | dict[str, Any] | None" = None, path: Path | str | None = None
    ) -> "FlowDeclaration":
        """The declaration that something holds.

        Args:
            contents: a text in YAML or JSON, what one holds, or a declaration, which is returned.
            path: a file with such a text, where `contents` is None.

        Raises:
            DefinitionError: there is neither, or the text cannot be read.
            FileNotFoundError: there is no such file.
            ValidationError: it declares no flow; all faults are told.
        """
        if isinstance(contents, FlowDeclaration):
            return contents
        if contents is None and path is None:
            raise DefinitionError("nothing is given that declares a flow; give `contents` or `path`")
        file = None if contents is not None or path is None else Path(path)
        shown = "the declaration" if file is None else str(file)
        given: Any = _read(file.read_text(encoding="utf-8"), shown) if file is not None else contents
        values = _read(given, shown) if isinstance(given, str) else given
        if not isinstance(values, dict):
            raise DefinitionError(f"{shown} is no mapping of names to values; a flow has a `name` and `methods`")
        declared = cls.model_validate(values)
        declared._source_path = file.resolve() if file is not None else None
        return declared

    @classmethod
    def skill(cls, *, skips: Sequence[str] = (), examples_format: Literal["yaml", "json"] = "yaml") -> str:
        """Instructions for models that write declarations; see `authoring_skill`."""
        return authoring_skill(skips, examples_format)

    def to_dict(self, *, exclude_none: bool = True) -> dict[str, Any]:
        """The declaration as plain data, which `from_declaration` takes.

        Args:
            exclude_none: whether what is None is left out.
        """
        return self.model_dump(mode="json", by_alias=True, exclude_none=exclude_none)


def log_flow_definition_issues(definition: FlowDeclaration) -> None:
    """Log a warning for each thing in a declaration that can hardly be meant."""
    for place, told in _issues(definition):
        _LOG.warning("flow `%s`, methods.%s: %s", definition.name, place, told)


def _issues(definition: FlowDeclaration) -> list[tuple[str, str]]:
    told: list[tuple[str, str]] = []
    for name, method in definition.methods.items():
        asked = method.human_feedback
        if method.emit and not method.router:
            told.append((f"{name}.emit", "only a router says what happens next; write `router: true`"))
        if asked is not None and asked.default_outcome is not None and not asked.emit:
            told.append((f"{name}.human_feedback.default_outcome", "there is no `emit` that it could be of"))
        if asked is not None and asked.emit and asked.default_outcome not in (None, *asked.emit):
            told.append((f"{name}.human_feedback.default_outcome", "it is not in `emit`"))
        if not method.is_start and method.listen is None:
            told.append((name, "nothing runs it; write `start: true`, or what it listens to"))
    return told


def _read(text: str, shown: str) -> Any:
    """What a text in YAML holds, which JSON is a part of."""
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text)
        except ValueError:
            pass  # YAML has such brackets, too
    yaml = load("yaml")
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise DefinitionError(f"{shown} is neither YAML nor JSON: {error}") from error
