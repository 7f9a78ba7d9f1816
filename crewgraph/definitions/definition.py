"""What agents, tasks and crews have in common: identity, `config=`, and keywords nobody knows."""

import difflib
import hashlib
import warnings
from collections.abc import Container
from copy import copy
from typing import Any, ClassVar, Self, cast
from uuid import UUID, uuid4

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError, ValidationError

from crewgraph.definitions.misplaced import MISPLACED
from crewgraph.definitions.section import Section
from crewgraph.definitions.security import Fingerprint, SecurityConfig
from crewgraph.deprecations import user_stacklevel
from crewgraph.hooks.registry import pass_on
from crewgraph.tools.failure import ToolFailurePolicy

__all__ = ["Definition", "UnknownKeyword", "key_of", "sharing"]

_OWN = frozenset({"id", "config", "security_config"})
_CONTAINERS = (list, dict, set)

_told: set[tuple[str, str]] = set()


class UnknownKeyword(UserWarning):
    """A constructor got a keyword that means nothing; it was left out."""


def key_of(*parts: str) -> str:
    """A name for a definition's content that is the same in every process."""
    return hashlib.md5("|".join(parts).encode(), usedforsecurity=False).hexdigest()


def sharing(thing: Any, memo: dict[int, Any] | None) -> dict[int, Any]:
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

    _former: ClassVar[frozenset[str]] = frozenset()
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

    def _again(self, *, without: Container[str] = (), **given: Any) -> Self:
        """Another definition of this class with the same fields: a new identity, lists of its own, the same things in them.

        Args:
            without: fields that begin anew.
            given: fields with other values.
        """
        fields: dict[str, Any] = {**(self.model_extra or {})}
        for name, field in type(self).model_fields.items():
            if name not in given and name not in _OWN and name not in without:
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
    def _prepared(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        given = cast(dict[str, Any], values)
        config: Any = given.get("config")
        if isinstance(config, dict):
            configured = cls._configured(cast(dict[str, Any], config))
            given = {**given, **{k: v for k, v in configured.items() if given.get(k) is None}}
        cls._tell_unknown(given)
        return given

    @model_validator(mode="wrap")
    @classmethod
    def _placed(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(values)
        except ValidationError as error:
            given = cast(dict[str, Any], values) if isinstance(values, dict) else {}
            config: Any = given.get("config")
            if isinstance(config, Section):
                raise config.told(error, given) from None
            raise

    @classmethod
    def _configured(cls, config: dict[str, Any]) -> dict[str, Any]:
        """The part of `config` that stands for fields, or for nothing at all."""
        return {name: value for name, value in config.items() if name != "config"}

    @classmethod
    def _tell_unknown(cls, given: dict[str, Any]) -> None:
        known = {*cls.model_fields, *(field.alias for field in cls.model_fields.values() if field.alias)}
        config: Any = given.get("config")
        for name in given:
            if name in known or name in cls._former:
                continue
            where = f"{config.where(name)}: " if isinstance(config, Section) and name in config else ""
            if (cls.__name__, where + name) in _told:
                continue
            _told.add((cls.__name__, where + name))
            told = f"{where}`{cls.__name__}` has no keyword `{name}`; it has no effect.{cls._hint(name)}"
            warnings.warn(told, UnknownKeyword, stacklevel=user_stacklevel())

    @classmethod
    def _hint(cls, name: str) -> str:
        for kind in cls.__mro__:
            if belongs := MISPLACED.get(kind.__name__, {}).get(name):
                return f" {belongs}"
        near = difflib.get_close_matches(name, sorted(cls.model_fields), n=1)
        return f" Did you mean `{near[0]}`?" if near else ""

    @field_validator("id", mode="before")
    @classmethod
    def _made_not_given(cls, _: Any) -> Any:
        raise PydanticCustomError(
            "may_not_set_field", "`id` is made by {owner}, not given; leave it out.", {"owner": cls.__name__}
        )
