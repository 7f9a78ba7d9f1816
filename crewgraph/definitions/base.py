"""What agents, tasks and crews have in common: identity, `config=`, and keywords nobody knows.

Keywords that programs give to definitions which never had them, and where each belongs.

An entry of a configuration, which knows where it was written.

Who made a definition: fingerprints for audits.

What others keep with a definition.
"""

import difflib
import hashlib
import warnings
from collections import OrderedDict
from collections.abc import Container, Hashable, Mapping
from copy import copy
from datetime import UTC, datetime
from threading import Lock
from typing import Any, ClassVar, Self, cast
from uuid import UUID, uuid4, uuid5

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

from crewgraph.deprecations import user_stacklevel
from crewgraph.hooks.registry import pass_on
from crewgraph.tools.failure import ToolFailurePolicy

__all__ = [
    "FINGERPRINT_NAMESPACE",
    "KEYWORD_HINTS",
    "ConfigSection",
    "Definition",
    "DerivedCache",
    "Fingerprint",
    "SecurityConfig",
    "UnknownKeyword",
    "content_key",
    "share_in_copy",
]


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
"""A definition's class to keywords that it has not, each to what to write instead."""


class ConfigSection(dict[str, Any]):
    """The values of one agent or task, as a YAML file or a dict holds them.

    Given as `config=`, it puts its place in front of what is said of its values.
    """

    def __init__(
        self, values: Mapping[str, Any], *, name: str, place: str, lines: Mapping[str, int] | None = None
    ) -> None:
        """Keep values with their place.

        Args:
            values: the values by key.
            name: what the entry is called.
            place: where it stands; a file without a line.
            lines: the line of each key in that file, from 1, and of the entry itself under "".
        """
        super().__init__(values)
        self.name = name
        self.place = place
        self.lines = dict(lines or {})

    def where(self, key: str = "") -> str:
        """The place of a key, or of the whole entry: "config/agents.yaml:12"."""
        line = self.lines.get(key) or self.lines.get("")
        return f"{self.place}:{line}" if line else self.place

    def told(self, error: ValidationError, given: Mapping[str, Any]) -> ValidationError:
        """What is wrong with a definition, each fault of this entry's with its place in front.

        Args:
            error: the faults.
            given: the keywords that were given beside this entry, which win over it.
        """
        return ValidationError.from_exception_data(error.title, [self._placed(one, given) for one in error.errors()])

    def _placed(self, fault: Any, given: Mapping[str, Any]) -> InitErrorDetails:
        key = str(fault["loc"][0]) if fault["loc"] else ""
        text: str = fault["msg"]
        if given.get(key) is None:
            about = f"`{key}` of `{self.name}`" if key else f"`{self.name}`"
            text = f"{self.where(key)}: {about}: {text}"
        kind = PydanticCustomError(fault["type"], "{text}", {**fault.get("ctx", {}), "text": text})
        return InitErrorDetails(type=kind, loc=fault["loc"], input=fault["input"])


FINGERPRINT_NAMESPACE = UUID("f47ac10b-58cc-4372-a567-0e02b2c3d479")
"""CrewAI's, so that a seed gives the same identity here and there."""


class Fingerprint(BaseModel):
    """An identity with the time it was made."""

    metadata: dict[str, Any] = Field(default_factory=dict)
    """What else is to be known, plain data."""

    _uuid: UUID = PrivateAttr(default_factory=uuid4)
    _created_at: datetime = PrivateAttr(default_factory=lambda: datetime.now(UTC))

    @property
    def uuid_str(self) -> str:
        """The identity as text."""
        return str(self._uuid)

    @property
    def uuid(self) -> UUID:
        """The identity."""
        return self._uuid

    @property
    def created_at(self) -> datetime:
        """When it was made, in UTC."""
        return self._created_at

    @classmethod
    def generate(cls, seed: str | None = None, metadata: dict[str, Any] | None = None) -> Self:
        """A new fingerprint; the same seed gives the same identity.

        Raises:
            ValueError: the seed is blank.
        """
        made = cls(metadata=metadata or {})
        if seed is not None:
            if not seed.strip():
                raise ValueError("the seed of a fingerprint is blank; give some text, or None for a random identity")
            made._uuid = uuid5(FINGERPRINT_NAMESPACE, seed)
        return made

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for `from_dict`."""
        return {"uuid_str": self.uuid_str, "created_at": self._created_at.isoformat(), "metadata": self.metadata}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The fingerprint that `to_dict` described."""
        made = cls(metadata=data.get("metadata") or {})
        if text := data.get("uuid_str"):
            made._uuid = UUID(text)
        if text := data.get("created_at"):
            made._created_at = datetime.fromisoformat(text)
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fingerprint) and other.uuid == self.uuid

    def __hash__(self) -> int:
        return hash(self._uuid)

    def __str__(self) -> str:
        return self.uuid_str


class SecurityConfig(BaseModel):
    """What identifies an agent, a task or a crew."""

    fingerprint: Fingerprint = Field(default_factory=Fingerprint)
    """Its identity; a text is taken as the seed of one."""

    @field_validator("fingerprint", mode="before")
    @classmethod
    def _from_seed(cls, value: Any) -> Any:
        return Fingerprint.generate(seed=value) if isinstance(value, str) else value

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for `from_dict`."""
        return {"fingerprint": self.fingerprint.to_dict()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The configuration that `to_dict` described."""
        found = data.get("fingerprint")
        return cls(fingerprint=Fingerprint.from_dict(found)) if found else cls()


_IDENTITY_FIELDS = frozenset({"id", "config", "security_config"})
_CONTAINERS = (list, dict, set)

_warned: set[tuple[str, str]] = set()


class UnknownKeyword(UserWarning):
    """A constructor got a keyword that means nothing; it was left out."""


def content_key(*parts: str) -> str:
    """A name for a definition's content that is the same in every process."""
    return hashlib.md5("|".join(parts).encode(), usedforsecurity=False).hexdigest()


def share_in_copy(thing: Any, memo: dict[int, Any] | None) -> dict[int, Any]:
    """What `__deepcopy__` is told for a thing to be shared by the copy."""
    known = {} if memo is None else memo
    known.setdefault(id(thing), thing)
    return known


def _is_default(value: Any, field: FieldInfo) -> bool:
    if field.is_required():
        return False
    default = field.get_default(call_default_factory=True, validated_data={})
    return value is default or (type(value) in _CONTAINERS and value == default)


class Definition(BaseModel):
    """The base of agents, tasks and crews."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="ignore")

    _ignored_keywords: ClassVar[frozenset[str]] = frozenset()
    """Keywords that older programs pass and that need no word."""

    id: UUID = Field(default_factory=uuid4, frozen=True)
    """The identity of this object; made, never given."""

    config: dict[str, Any] | None = None
    """Values for fields that are not given themselves, as YAML files hold them."""

    security_config: SecurityConfig = Field(default_factory=SecurityConfig)
    """What identifies the definition in audits."""

    tool_failure_policy: ToolFailurePolicy | None = None
    """What a failure of a tool means: "ignore", "warn" (the outputs list it) or "raise" (the task fails). A tool's own policy
    counts before the task's, that before the agent's, that before the crew's; where none says anything, it is "warn"."""

    # Two definitions with the same content are two.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return object.__hash__(self)

    def _copy_with(self, *, without: Container[str] = (), **given: Any) -> Self:
        """Another definition of this class with the same fields: a new identity, lists of its own, the same things in them.

        Args:
            without: fields that begin anew.
            given: fields with other values.
        """
        fields: dict[str, Any] = {**(self.model_extra or {})}
        for name, field in type(self).model_fields.items():
            if name not in given and name not in _IDENTITY_FIELDS and name not in without:
                value = getattr(self, name)
                if name in self.model_fields_set or not _is_default(value, field):
                    fields[field.alias or name] = copy(value) if type(value) in _CONTAINERS else value
        made = type(self)(**fields, **given)
        made.config = self.config  # not passed: it is in the fields already
        made.security_config.fingerprint.metadata.update(self.fingerprint.metadata)
        pass_on(self, made)
        return made

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        made = super().__deepcopy__(memo)
        pass_on(self, made)
        return made

    @property
    def fingerprint(self) -> Fingerprint:
        """The identity for audits."""
        return self.security_config.fingerprint

    @model_validator(mode="before")
    @classmethod
    def _merge_config(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        given = cast(dict[str, Any], values)
        config: Any = given.get("config")
        if isinstance(config, dict):
            configured = cls._config_values(cast(dict[str, Any], config))
            given = {**given, **{k: v for k, v in configured.items() if given.get(k) is None}}
        cls._warn_unknown(given)
        return given

    @model_validator(mode="wrap")
    @classmethod
    def _placed(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(values)
        except ValidationError as error:
            given = cast(dict[str, Any], values) if isinstance(values, dict) else {}
            config: Any = given.get("config")
            if isinstance(config, ConfigSection):
                raise config.told(error, given) from None
            raise

    @classmethod
    def _config_values(cls, config: dict[str, Any]) -> dict[str, Any]:
        """The part of `config` that stands for fields, or for nothing at all."""
        return {name: value for name, value in config.items() if name != "config"}

    @classmethod
    def _warn_unknown(cls, given: dict[str, Any]) -> None:
        known = {*cls.model_fields, *(field.alias for field in cls.model_fields.values() if field.alias)}
        config: Any = given.get("config")
        for name in given:
            if name in known or name in cls._ignored_keywords:
                continue
            where = f"{config.where(name)}: " if isinstance(config, ConfigSection) and name in config else ""
            if (cls.__name__, where + name) in _warned:
                continue
            _warned.add((cls.__name__, where + name))
            told = f"{where}`{cls.__name__}` has no keyword `{name}`; it has no effect.{cls._hint(name)}"
            warnings.warn(told, UnknownKeyword, stacklevel=user_stacklevel())

    @classmethod
    def _hint(cls, name: str) -> str:
        for kind in cls.__mro__:
            if belongs := KEYWORD_HINTS.get(kind.__name__, {}).get(name):
                return f" {belongs}"
        near = difflib.get_close_matches(name, sorted(cls.model_fields), n=1)
        return f" Did you mean `{near[0]}`?" if near else ""

    @field_validator("id", mode="before")
    @classmethod
    def _reject_id(cls, _: Any) -> Any:
        raise PydanticCustomError(
            "may_not_set_field", "`id` is made by {owner}, not given; leave it out.", {"owner": cls.__name__}
        )


_MAX_ENTRIES = 4


class DerivedCache:
    """A few things made of a definition, the latest used; a copy of the definition begins without."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._things: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable) -> Any:
        """What was kept under a key, else None."""
        with self._lock:
            if key in self._things:
                self._things.move_to_end(key)
            return self._things.get(key)

    def put(self, key: Hashable, thing: Any) -> None:
        """Keep something; what was not used for longest goes."""
        with self._lock:
            self._things[key] = thing
            if len(self._things) > _MAX_ENTRIES:
                self._things.popitem(last=False)

    def __copy__(self) -> Self:
        return type(self)()

    def __deepcopy__(self, _: Any) -> Self:
        return type(self)()
