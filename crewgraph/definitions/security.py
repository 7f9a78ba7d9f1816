"""Who made a definition: fingerprints for audits."""

from datetime import UTC, datetime
from typing import Any, Self
from uuid import UUID, uuid4, uuid5

from pydantic import BaseModel, Field, PrivateAttr, field_validator

__all__ = ["NAMESPACE", "Fingerprint", "SecurityConfig"]

NAMESPACE = UUID("f47ac10b-58cc-4372-a567-0e02b2c3d479")
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
            made._uuid = uuid5(NAMESPACE, seed)
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
