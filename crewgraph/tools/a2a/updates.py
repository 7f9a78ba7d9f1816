"""How an agent hears what a remote agent has done."""

import secrets
from enum import StrEnum
from typing import Any

from pydantic import AnyHttpUrl, BaseModel, Field, SecretStr, field_validator

__all__ = [
    "PollingConfig",
    "PushNotificationConfig",
    "StreamingConfig",
    "UpdateConfig",
    "WebhookSignatureConfig",
    "WebhookSignatureMode",
]


class StreamingConfig(BaseModel):
    """The remote agent is listened to; asked again and again where it cannot stream, or the stream breaks off."""


class PollingConfig(BaseModel):
    """The remote agent is asked again and again."""

    interval: float = Field(default=2.0, gt=0)
    """How many seconds lie between."""

    timeout: float | None = Field(default=None, gt=0)
    """For how many seconds; as long as the `timeout` of the remote agent where None."""

    max_polls: int | None = Field(default=None, gt=0)
    """How often at the most."""

    history_length: int = Field(default=100, gt=0)
    """How many messages of the conversation the remote agent sends along."""


class WebhookSignatureMode(StrEnum):
    """How notifications are signed."""

    NONE = "none"
    HMAC_SHA256 = "hmac_sha256"


class WebhookSignatureConfig(BaseModel):
    """How a receiver of notifications knows that they are genuine."""

    mode: WebhookSignatureMode = WebhookSignatureMode.NONE
    """How they are signed."""

    secret: SecretStr | None = None
    """What they are signed with."""

    timestamp_tolerance_seconds: int = Field(default=300, ge=0)
    """How old they may be."""

    header_name: str = "X-A2A-Signature"
    """The header with the signature."""

    timestamp_header_name: str = "X-A2A-Signature-Timestamp"
    """The header with the time."""

    @classmethod
    def generate_secret(cls, length: int = 32) -> str:
        """A secret of so many random bytes, as text."""
        return secrets.token_urlsafe(length)

    @classmethod
    def hmac_sha256(cls, secret: str | SecretStr, timestamp_tolerance_seconds: int = 300) -> "WebhookSignatureConfig":
        """Signatures with a secret."""
        kept = secret if isinstance(secret, SecretStr) else SecretStr(secret)
        return cls(
            mode=WebhookSignatureMode.HMAC_SHA256,
            secret=kept,
            timestamp_tolerance_seconds=timestamp_tolerance_seconds,
        )


class PushNotificationConfig(BaseModel):
    """The remote agent tells an address of yours; the agent itself asks again and again meanwhile."""

    url: AnyHttpUrl
    """The address."""

    id: str | None = None
    """What the remote agent is to call it."""

    token: str | None = Field(default=None, repr=False)
    """What it sends along, so that the receiver knows it."""

    authentication: Any = None
    """How it says who it is: `{"schemes": [...], "credentials": ...}`."""

    timeout: float | None = Field(default=300.0, gt=0)
    """For how many seconds the agent waits."""

    interval: float = Field(default=2.0, gt=0)
    """How many seconds lie between two questions."""

    result_store: Any = None
    """Where the receiver puts what it was told; an object with `get_result(task_id)`, asked before the remote agent is."""

    signature: WebhookSignatureConfig | None = None
    """How notifications are signed; for the receiver."""

    @field_validator("signature", mode="before")
    @classmethod
    def _secret(cls, value: Any) -> Any:
        return WebhookSignatureConfig.hmac_sha256(value) if isinstance(value, (str, SecretStr)) else value


UpdateConfig = StreamingConfig | PollingConfig | PushNotificationConfig
"""A way of hearing of it."""
