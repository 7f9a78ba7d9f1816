"""What keeps snapshots."""

import asyncio
from abc import ABC, abstractmethod
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from pydantic import BaseModel

__all__ = ["BaseProvider", "new_id"]


def new_id() -> str:
    """A name for a snapshot, which begins with the time, in UTC."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}_{uuid4().hex[:8]}"


class BaseProvider(BaseModel, ABC):
    """Keeps snapshots in a place, on branches; each knows the one before it."""

    provider_type: str = "base"
    """What kind it is."""

    @abstractmethod
    def checkpoint(self, data: str, location: str, *, parent_id: str | None = None, branch: str = "main") -> str:
        """Keep a snapshot.

        Args:
            data: what is kept.
            location: where.
            parent_id: the one before it on its way.
            branch: its branch.

        Returns:
            What `from_checkpoint` finds it by.
        """

    async def acheckpoint(self, data: str, location: str, *, parent_id: str | None = None, branch: str = "main") -> str:
        """Keep a snapshot, without holding up the event loop."""
        return await asyncio.to_thread(self.checkpoint, data, location, parent_id=parent_id, branch=branch)

    @abstractmethod
    def prune(self, location: str, max_keep: int, *, branch: str = "main") -> int:
        """Remove the oldest of a branch; how many they were."""

    @abstractmethod
    def extract_id(self, location: str) -> str:
        """The name of the snapshot that `checkpoint` said is there."""

    @abstractmethod
    def from_checkpoint(self, location: str) -> str:
        """What was kept."""

    async def afrom_checkpoint(self, location: str) -> str:
        """What was kept, read without holding up the event loop."""
        return await asyncio.to_thread(self.from_checkpoint, location)

    def newest(self, location: str) -> str | None:
        """What finds the newest one of all branches; None where there is none, or the provider cannot tell."""
        return None

    def runs(self, location: str) -> Path:
        """The database that the runs are kept in of which the snapshots in a place are."""
        return Path(f"{location}.runs")
