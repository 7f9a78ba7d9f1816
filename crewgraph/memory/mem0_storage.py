"""Memories kept by Mem0, on its platform or on this machine."""

import os
from typing import Any, cast

from crewgraph.extras import require
from crewgraph.memory.storage import Storage

__all__ = ["Mem0Storage"]

_WHO = ("user_id", "agent_id", "run_id")
_OF_SAVING = ("includes", "excludes")


class Mem0Storage(Storage):
    """Keeps memories with Mem0.

    Args:
        type: what kind of memory it is; noted with each entry.
        crew: whose it is.
        config: `user_id`, `agent_id`, `run_id`: whose memories they are; `infer`: whether Mem0 draws statements from what is
            said (True); `includes`, `excludes`: what these are about. On its platform `api_key` (else MEM0_API_KEY),
            `custom_categories`; on this machine `local_mem0_config`, as `mem0.Memory.from_config` takes it.

    Raises:
        MissingExtra: Mem0 is not installed.
    """

    def __init__(self, type: str, crew: Any = None, config: dict[str, Any] | None = None) -> None:
        self.type, self.crew, self.config = type, crew, config or {}
        self._mem0: Any = require("mem0", extra="mem0", purpose='a memory with the provider "mem0"')
        self._memory: Any = None

    @property
    def memory(self) -> Any:
        """Mem0's own object, made when it is first used."""
        if self._memory is None:
            mem0, key = self._mem0, self._key
            if key is None:
                local = self.config.get("local_mem0_config")
                self._memory = mem0.Memory.from_config(local) if local else mem0.Memory()
            else:
                self._memory = mem0.MemoryClient(api_key=key)
                if categories := self.config.get("custom_categories"):
                    self._memory.project.update(custom_categories=categories)
        return self._memory

    def save(self, value: Any, metadata: dict[str, Any] | None = None) -> None:
        """Keep a text; `messages` among the metadata are the conversation that it ended."""
        noted = dict(metadata or {})
        last = {"role": "assistant", "content": str(value)}
        said = [one for one in _conversation(noted.pop("messages", None) or []) if one != last]
        more = {name: self.config[name] for name in _OF_SAVING if self._key and name in self.config}
        self.memory.add(
            [*said, last],
            metadata={"type": self.type, **noted},
            infer=self.config.get("infer", True),
            **self._who,
            **more,
        )

    def search(self, query: str, limit: int = 5, score_threshold: float = 0.6) -> list[Any]:
        """The memories nearest to a text: what Mem0 gives, each with its text also under `content`."""
        who = [{name: value} for name, value in self._who.items()]
        filters: dict[str, Any] = {}
        if who:
            filters = who[0] if len(who) == 1 else {"OR": who}
        found = self.memory.search(query, top_k=limit, threshold=score_threshold, filters=filters)
        results: Any = cast("dict[str, Any]", found).get("results", []) if isinstance(found, dict) else found or []
        return [{**one, "content": one.get("memory", "")} for one in results]

    def reset(self) -> None:
        """Forget what is kept for whom the configuration names; all there is, where it names nobody."""
        if self._who:
            self.memory.delete_all(**self._who)
        else:
            self.memory.reset()

    @property
    def _who(self) -> dict[str, Any]:
        return {name: self.config[name] for name in _WHO if self.config.get(name)}

    @property
    def _key(self) -> str | None:
        return self.config.get("api_key") or os.environ.get("MEM0_API_KEY") or None


def _conversation(said: list[Any]) -> list[dict[str, Any]]:
    """What was asked and answered; not what an agent is told of itself."""
    return [
        {"role": one["role"], "content": one["content"]}
        for one in cast("list[dict[str, Any]]", said)
        if one.get("role") in ("user", "assistant") and isinstance(one.get("content"), str) and one["content"]
    ]
