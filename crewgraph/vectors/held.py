"""Embedders that are in use, so that what is given again is not opened again."""

import json
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakValueDictionary

from crewgraph.vectors.embedder import NamedEmbedder

__all__ = ["held"]

_held: WeakValueDictionary[tuple[int, str], NamedEmbedder] = WeakValueDictionary()


def held(given: object, words: Mapping[str, Any], make: Callable[[], NamedEmbedder]) -> NamedEmbedder:
    """The embedder that somebody has of the same thing and the same words; else a new one.

    A connection is costly to open, the name of a function's vectors may cost a request, and a store is asked for as often
    as a crew is run.

    Args:
        given: what the embedder is made of, and holds as `given`.
        words: more that it is made of; with anything but plain data in it, it is made anew.
        make: how it is made.
    """
    try:
        key = (id(given), json.dumps(words, sort_keys=True))
    except TypeError:
        return make()
    known = _held.get(key)
    if known is None or known.given is not given:  # an id is used again once its object is gone
        known = _held[key] = make()
    return known
