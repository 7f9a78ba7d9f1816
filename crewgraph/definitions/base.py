"""The base of agents, tasks and crews: identity, `config=`, warnings about unknown keywords, and fingerprints for audits."""

import hashlib
import inspect
import warnings
from collections.abc import Container, Mapping
from copy import copy
from datetime import datetime
from functools import lru_cache
from typing import Any, ClassVar, Self, cast
from uuid import UUID, uuid4, uuid5

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

from crewgraph.annotations import annotations_of
from crewgraph.deprecations import UnknownKeyword, user_stacklevel
from crewgraph.hooks.registry import copy_hooks
from crewgraph.redaction import RedactedModel
from crewgraph.schema import Metadata, fault_text, is_object
from crewgraph.text import suggestion
from crewgraph.tools.failure import ToolFailurePolicy

KEYWORD_HINTS: dict[str, dict[str, str]] = {
    "Agent": {
        "code_execution_limit": "Write `max_execution_time=` for the seconds that a task may take.",
        "human_input": "Give it to a task: `Task(..., human_input=True)`.",
        "output_json": "Give it to a task: `Task(..., output_json=...)`.",
        "output_pydantic": "Give it to a task: `Task(..., output_pydantic=...)`.",
        "personality": "Write it into `backstory=`.",
        "system_message": "Write it into `backstory=`, or give a `system_template=`.",
        "tool": "Write `tools=[...]`.",
    },
    "Crew": {
        "callbacks": "Write `task_callback=` or `step_callback=`, one function each.",
        "context": "Give tasks to a task: `Task(..., context=[...])`; values to a run: `kickoff(inputs={...})`.",
        "knowledge_config": "Give it to the agents: `Agent(..., knowledge_config=...)`.",
        "llm": "Give it to the agents: `Agent(..., llm=...)`.",
        "manager": "Write `manager_agent=`, with `process=Process.hierarchical`.",
        "max_execution_time": "Write `max_seconds=`, the seconds that a run may take.",
        "max_iter": "Give it to the agents: `Agent(..., max_iter=...)`.",
        "processes": "Write `process=`.",
        "tools": "Give them to the agents: `Agent(..., tools=[...])`.",
    },
    "Task": {
        "allow_code_execution": "Give it to the agent: `Agent(..., allow_code_execution=True)`.",
        "code_execution_mode": "Give it to the agent: `Agent(..., code_execution_mode=...)`.",
        "dependencies": "Write `context=[...]`.",
        "inputs": "Give values to a run: `kickoff(inputs={...})`.",
        "llm": "Give it to the agent: `Agent(..., llm=...)`.",
        "markdowns": "Write `markdown=`.",
        "max_iter": "Give it to the agent: `Agent(..., max_iter=...)`.",
        "max_retry_limit": "Write `guardrail_max_retries=`, or give it to the agent.",
        "postprocess": "Write `callback=`, a function of the output.",
        "timeout": "Write `max_execution_time=`, in seconds.",
        "verbose": "Give it to the agent or the crew: `Crew(..., verbose=True)`.",
    },
}
"""By class name: keywords that programs pass by mistake, each with what to write instead."""


class ConfigSection(dict[str, Any]):
    """The configuration of one agent or task from a YAML file or a dict.

    Passed as `config=`, it adds the file and line of a value to validation errors.
    """

    def __init__(
        self, values: Mapping[str, object], *, name: str, place: str, lines: Mapping[str, int] | None = None
    ) -> None:
        """Create a section.

        Args:
            values: The values by key.
            name: The name of the entry, such as "researcher".
            place: The file, without a line number.
            lines: The line of each key in the file, from 1, and of the entry itself under "".
        """
        super().__init__(values)
        self.name = name
        self.place = place
        self.lines = dict(lines or {})

    def where(self, key: str = "") -> str:
        """Return the location of a key, or of the whole entry: "config/agents.yaml:12"."""
        line = self.lines.get(key) or self.lines.get("")
        return f"{self.place}:{line}" if line else self.place

    def locate_errors(self, error: ValidationError, overrides: Mapping[str, object]) -> ValidationError:
        """Return the error with the locations of this section's values in its messages.

        Args:
            error: The validation error of a definition.
            overrides: The keywords passed in addition to this section, which take precedence.
        """
        return ValidationError.from_exception_data(
            error.title, [self._locate(details, overrides) for details in error.errors()]
        )

    def _locate(self, details: Any, overrides: Mapping[str, object]) -> InitErrorDetails:
        key = str(details["loc"][0]) if details["loc"] else ""
        text = fault_text(details)
        if overrides.get(key) is None:
            subject = f"`{key}` of `{self.name}`" if key else f"`{self.name}`"
            text = f"{self.where(key)}: {subject}: {text}"
        kind = PydanticCustomError(details["type"], "{text}", {**details.get("ctx", {}), "text": text})
        return InitErrorDetails(type=kind, loc=details["loc"], input=details["input"])


FINGERPRINT_NAMESPACE = UUID("f47ac10b-58cc-4372-a567-0e02b2c3d479")
"""CrewAI's namespace, so that a seed gives the same UUID in both."""


class Fingerprint(BaseModel):
    """An identity, a UUID unless another was loaded, with its creation time and metadata, for audits."""

    metadata: Metadata = Field(default_factory=dict)
    """Additional plain data: up to 10,000 characters as text, and dicts only as values of the first level."""

    _identity: str = PrivateAttr(default_factory=lambda: str(uuid4()))
    _created_at: datetime = PrivateAttr(default_factory=datetime.now)

    @field_validator("metadata", mode="before")
    @classmethod
    def _check_metadata(cls, value: Any) -> object:
        if is_object(value) and (problem := _problem_of_metadata(value)) is not None:
            raise ValueError(f"the metadata of a fingerprint cannot be used: {problem}")
        return value

    @property
    def uuid_str(self) -> str:
        """The identity as a string."""
        return self._identity

    @property
    def uuid(self) -> UUID:
        """The UUID.

        Raises:
            ValueError: Another text was loaded as identity.
        """
        try:
            return UUID(self._identity)
        except ValueError as error:
            raise ValueError(
                f"the identity {self._identity!r:.60} of the fingerprint is no UUID; read `uuid_str`"
            ) from error

    @property
    def created_at(self) -> datetime:
        """The creation time: local time without a time zone, or as it was loaded."""
        return self._created_at

    @classmethod
    def generate(cls, seed: str | None = None, metadata: Metadata | None = None) -> Self:
        """Create a fingerprint. The same seed gives the same UUID; None gives a random one.

        Raises:
            ValueError: The seed is blank.
        """
        fingerprint = cls(metadata=metadata or {})
        if seed is not None:
            if not seed.strip():
                raise ValueError("the seed of a fingerprint is blank; pass some text, or None for a random identity")
            fingerprint._identity = str(uuid5(FINGERPRINT_NAMESPACE, seed))
        return fingerprint

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for `from_dict`."""
        return {"uuid_str": self.uuid_str, "created_at": self._created_at.isoformat(), "metadata": self.metadata}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Load a fingerprint from the data of `to_dict`; any text may be its identity."""
        fingerprint = cls(metadata=data.get("metadata") or {})
        if text := data.get("uuid_str"):
            fingerprint._identity = str(text)
        if text := data.get("created_at"):
            fingerprint._created_at = datetime.fromisoformat(text)
        return fingerprint

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fingerprint) and other.uuid_str == self.uuid_str

    def __hash__(self) -> int:
        return hash(self._identity)

    def __str__(self) -> str:
        return self.uuid_str


_MAX_METADATA_LENGTH = 10_000
"""Maximum number of characters of a fingerprint's metadata, as CrewAI counts them: those of the dict as Python shows it."""


def _problem_of_metadata(metadata: Mapping[Any, object]) -> str | None:
    for key, value in metadata.items():
        if not isinstance(key, str):
            return f"the key {key!r} is not a string."
        for inner, item in cast("dict[object, object]", value).items() if isinstance(value, dict) else ():
            if not isinstance(inner, str):
                return f"the key {inner!r} in `{key}` is not a string."
            if isinstance(item, dict):
                return f"`{key}.{inner}` is a dict, and only values of the first level may be dicts. Flatten it."
    if (size := len(str(metadata))) > _MAX_METADATA_LENGTH:
        return (
            f"it has {size:,} characters as text, and {_MAX_METADATA_LENGTH:,} are allowed. Store the rest elsewhere."
        )
    return None


class SecurityConfig(BaseModel):
    """The security settings of an agent, a task or a crew: its fingerprint."""

    fingerprint: Fingerprint = Field(default_factory=Fingerprint)
    """The identity for audits; a string is used as a seed."""

    @field_validator("fingerprint", mode="before")
    @classmethod
    def _from_seed(cls, value: Any) -> object:
        return Fingerprint.generate(seed=value) if isinstance(value, str) else value

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for `from_dict`."""
        return {"fingerprint": self.fingerprint.to_dict()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Load a configuration from the data of `to_dict`."""
        fingerprint = data.get("fingerprint")
        return cls(fingerprint=Fingerprint.from_dict(fingerprint)) if fingerprint else cls()


_IDENTITY_FIELDS = frozenset({"id", "config", "security_config"})
_CONTAINERS = (list, dict, set)

_warned: set[tuple[str, str]] = set()


@lru_cache(maxsize=4096)
def _is_redeclared(definition: type[BaseModel], field: str) -> bool:
    return sum(field in annotations_of(base) for base in definition.__mro__) > 1


@lru_cache(maxsize=4096)
def content_key(*parts: str) -> str:
    """Return a digest of texts that is the same in every process."""
    return hashlib.md5("|".join(parts).encode(), usedforsecurity=False).hexdigest()


def refuse_single(value: object, info: ValidationInfo) -> object:
    """Return the value of a field that holds a list, unless it is one item: pydantic would take a model's fields for the items.

    Raises:
        PydanticCustomError: It is a single model, text, number or function.
    """
    if isinstance(value, BaseModel | str | int) or inspect.isroutine(value):
        text = "`{field}` is a list, not {kind}; write `{field}=[...]`."
        kind = f"{value!r:.60}"
        if isinstance(value, BaseModel):
            name = type(value).__name__
            kind = f"{'an' if name[0] in 'AEIOU' else 'a'} `{name}`"
        raise PydanticCustomError("list_type", text, {"field": info.field_name, "kind": kind})
    return value


def refuse_reference(value: object, kind: str) -> None:
    """Refuse a name, a class, or a function that was not called, in place of an agent or a task.

    Raises:
        PydanticCustomError: It is one of these; the message says what to write.
    """
    name = getattr(value, "__name__", "")
    if isinstance(value, str):
        problem, advice = f"{value!r:.60} is not {kind}", "pass the object itself, not its name"
    elif isinstance(value, type):
        problem, advice = f"`{name}` is a class, not {kind}", f"write `{name}(...)`"
    elif inspect.isroutine(value):
        problem, advice = f"`{name}` is a function, not {kind}", f"call it if it returns one: `{name}()`"
    else:
        return
    raise PydanticCustomError("model_type", "{problem}; {advice}.", {"problem": problem, "advice": advice})


def share_in_copy(value: Any, memo: dict[int, Any] | None) -> dict[int, Any]:
    """Return the `memo` of `__deepcopy__`, extended so that the copy shares `value`."""
    extended = {} if memo is None else memo
    extended.setdefault(id(value), value)
    return extended


def _name_of(value: object) -> str:
    return getattr(value, "__qualname__", None) or repr(value)


def _is_default(value: Any, field: FieldInfo) -> bool:
    if field.is_required():
        return False
    default = field.get_default(call_default_factory=True, validated_data={})
    return value is default or (type(value) in _CONTAINERS and value == default)


class Definition(RedactedModel):
    """The base of agents, tasks and crews."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="ignore")

    _ignored_keywords: ClassVar[frozenset[str]] = frozenset()
    """Keywords of older programs that are ignored without a warning."""

    _run_fields: ClassVar[frozenset[str]] = frozenset()
    """The fields that runs write."""

    id: UUID = Field(default_factory=uuid4, frozen=True)
    """The identity of this object; generated, cannot be passed."""

    config: dict[str, Any] | None = None
    """Values for fields that are not passed as keywords, as in a YAML file:
    `Agent(config={"role": "Writer", ...}, max_iter=3)`."""

    security_config: SecurityConfig = Field(default_factory=SecurityConfig)
    """The fingerprint that identifies the definition in audits."""

    tool_failure_policy: ToolFailurePolicy | None = None
    """What happens when a tool fails: "ignore", "warn" (the failure is listed in the output) or "raise" (the task fails). The
    policy of the tool comes first, then those of task, agent and crew; the default is "warn"."""

    # Compared by identity: two definitions with the same content are different.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return object.__hash__(self)

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """Return the fields; see pydantic. With `mode="json"`, functions, classes and other objects are their names."""
        return super().model_dump(**{"fallback": _name_of, **options})

    def is_written(self, field: str) -> bool:
        """Return whether the program wrote a field: as an argument, by an assignment, or as the default of a subclass."""
        return field in self.model_fields_set or _is_redeclared(type(self), field)

    def _copy_with(self, *, without: Container[str] = (), **overrides: Any) -> Self:
        """Return a copy with a new identity, and copies of lists, dicts and sets with the same items.

        Args:
            without: Fields to reset to their defaults.
            overrides: Fields with other values.
        """
        fields: dict[str, object] = {**(self.model_extra or {})}
        for name, field in type(self).model_fields.items():
            if name not in overrides and name not in _IDENTITY_FIELDS and name not in without:
                value = getattr(self, name)
                if name in self.model_fields_set or not _is_default(value, field):
                    fields[field.alias or name] = copy(value) if type(value) in _CONTAINERS else value
        copied = type(self)(**fields, **overrides)
        copied.config = self.config  # set afterwards: its values are in `fields` already
        copied.security_config.fingerprint.metadata.update(self.fingerprint.metadata)
        copy_hooks(self, copied)
        return copied

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        copied = super().__deepcopy__(memo)
        copy_hooks(self, copied)
        return copied

    @property
    def fingerprint(self) -> Fingerprint:
        """The identity for audits."""
        return self.security_config.fingerprint

    @model_validator(mode="before")
    @classmethod
    def _merge_config(cls, values: object) -> object:
        if not is_object(values):
            return values
        if is_object(config := values.get("config")):
            values = {**values, **{k: v for k, v in config.items() if values.get(k) is None}}
        cls._warn_unknown(values)
        return values

    @model_validator(mode="wrap")
    @classmethod
    def _locate_config_errors(cls, values: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(values)
        except ValidationError as error:
            if is_object(values) and isinstance(config := values.get("config"), ConfigSection):
                raise config.locate_errors(error, values) from None
            raise

    @classmethod
    def _warn_unknown(cls, fields: dict[str, object]) -> None:
        known = {*cls.model_fields, *(field.alias for field in cls.model_fields.values() if field.alias)}
        config: object = fields.get("config")
        for name in fields:
            if name in known or name in cls._ignored_keywords:
                continue
            where = f"{config.where(name)}: " if isinstance(config, ConfigSection) and name in config else ""
            if (cls.__name__, where + name) in _warned:
                continue
            _warned.add((cls.__name__, where + name))
            message = f"{where}`{cls.__name__}` has no keyword `{name}`; it has no effect.{cls._hint(name)}"
            warnings.warn(message, UnknownKeyword, stacklevel=user_stacklevel())

    @classmethod
    def _hint(cls, name: str) -> str:
        for kind in cls.__mro__:
            if hint := KEYWORD_HINTS.get(kind.__name__, {}).get(name):
                return f" {hint}"
        return suggestion(name, sorted(cls.model_fields))

    @field_validator("id", mode="before")
    @classmethod
    def _reject_id(cls, _: object) -> object:
        raise PydanticCustomError(
            "may_not_set_field", "`id` is made by {owner}, not given; leave it out.", {"owner": cls.__name__}
        )


def run_fields(kind: type[Definition]) -> frozenset[str]:
    """Return the names of the fields of a class of definitions that runs write."""
    return kind._run_fields  # pyright: ignore[reportPrivateUsage]
