"""What a search by meaning finds: the nearest vectors, narrowed to the namespace and the filter."""

import math
from collections.abc import Sequence

from langgraph.store.base import SearchOp

from crewgraph.checkpoints.database import Database
from crewgraph.stores.entries import Found, found, passing
from crewgraph.stores.search_space import SearchSpace

__all__ = ["ranked"]

_WIDER = 4  # times more vectors are looked at when too few of them pass
_WIDEST = 2_000  # vectors: it is better to ask first which entries pass than to look at more


def ranked(
    database: Database, space: SearchSpace, op: SearchOp, query: Sequence[float], since: float
) -> list[tuple[Found, float]]:
    """The entries a search finds and their scores, the best first; an entry's score is that of its best vector.

    Args:
        database: the store.
        space: of the query, caught up.
        op: the search.
        query: its vector.
        since: entries that expire before are not found.
    """
    wanted = op.offset + op.limit
    allowed, part = space.within(op.namespace_prefix)
    k = math.ceil(wanted / part) if allowed is None else wanted
    narrowed = False
    while True:
        hits = space.nearest(query, k, allowed)
        best: dict[int, float] = {}
        for entry, score in hits:
            best.setdefault(entry, score)
        entries = database.glance(found, best, op, since)
        if len(entries) >= wanted or len(hits) < k:
            return [(entries[one], score) for one, score in best.items() if one in entries][op.offset : wanted]
        k *= _WIDER
        if k > _WIDEST and not narrowed:
            allowed, narrowed = space.ids_of(database.read(passing, op, since)), True
            k = wanted
