"""What a search by meaning finds: the nearest vectors, narrowed to the namespace and the filter."""

import math
from collections.abc import Sequence

from langgraph.store.base import SearchOp

from crewgraph.checkpoints.database import Database
from crewgraph.stores.entries import Found, found, passing
from crewgraph.stores.one_state import OneState
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
    near, is_whole = _looked_up(database, space, op, query, since)
    if is_whole or space.is_caught_up():
        return near
    # What was near may have been replaced since, under the same key: nobody writes within a transaction.
    return space.in_one_state(lambda state: _looked_up(state, space, op, query, since)[0])


def _looked_up(
    database: "Database | OneState", space: SearchSpace, op: SearchOp, query: Sequence[float], since: float
) -> tuple[list[tuple[Found, float]], bool]:
    """What is found at once, and whether the entry of each vector that was near was found."""
    wanted = op.offset + op.limit
    allowed, part = space.within(op.namespace_prefix, database)
    k = math.ceil(wanted / part) if allowed is None else wanted
    narrowed = False
    while True:
        hits = space.nearest(query, k, allowed)
        best: dict[int, float] = {}
        for entry, score in hits:
            best.setdefault(entry, score)
        entries = database.glance(found, best, op, since)
        if len(entries) >= wanted or len(hits) < k:
            near = [(entries[one], score) for one, score in best.items() if one in entries]
            return near[op.offset : wanted], len(near) == len(best)
        k *= _WIDER
        if k > _WIDEST and not narrowed:
            allowed, narrowed = space.ids_of(database.read(passing, op, since)), True
            k = wanted
