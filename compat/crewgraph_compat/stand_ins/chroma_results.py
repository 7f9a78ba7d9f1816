"""What ChromaDB found, on the scale of results."""

from collections.abc import Mapping
from typing import Any, Literal, cast

from crewgraph.knowledge.passage import SearchResult
from crewgraph_compat.stand_ins.chroma_records import ExtractedSearchParams, Include

__all__ = ["Metric", "query_results", "score_of", "search_results"]

Metric = Literal["l2", "cosine", "ip"]
"""How ChromaDB measures distances."""


def score_of(distance: float, distance_metric: Metric) -> float:
    """How near something is, from 0 to 1, by its distance.

    Raises:
        ValueError: distances by inner products say nothing of that kind.
    """
    match distance_metric:
        case "cosine":
            return max(0.0, min(1.0, 1 - 0.5 * distance))
        case "l2":
            return 1 / (1 + distance)
        case _:
            raise ValueError(f"the metric `{distance_metric}` has no scale; make the collection with `cosine` or `l2`.")


def search_results(
    results: Mapping[str, Any], include: Include, distance_metric: Metric, score_threshold: float | None = None
) -> list[SearchResult]:
    """What was found for the first query, in ChromaDB's order; nothing where it was not asked for distances.

    Args:
        results: what a collection's `query` gave.
        include: what it was asked for.
        distance_metric: how it measured.
        score_threshold: how near things are at least.

    Raises:
        ValueError: by this metric nothing is near or far.
    """
    ids, distances = _first(results, "ids"), _first(results, "distances")
    if not ids or not distances or "distances" not in include:
        return []
    texts = _first(results, "documents") if "documents" in include else []
    metadatas = _first(results, "metadatas") if "metadatas" in include else []
    found: list[SearchResult] = [
        {
            "id": key,
            "content": texts[at] if texts else "",
            "metadata": dict((metadatas[at] if metadatas else None) or {}),
            "score": score_of(distances[at], distance_metric),
        }
        for at, key in enumerate(ids)
    ]
    return [one for one in found if score_threshold is None or one["score"] >= score_threshold]


def query_results(collection: Any, results: Mapping[str, Any], params: ExtractedSearchParams) -> list[SearchResult]:
    """What was found in a collection, which knows how it measures.

    Raises:
        ValueError: by its metric nothing is near or far.
    """
    metric = cast("Metric", (collection.metadata or {}).get("hnsw:space", "l2"))
    return search_results(results, params.include, metric, params.score_threshold)


def _first(results: Mapping[str, Any], name: str) -> list[Any]:
    rows = results.get(name)
    return rows[0] if rows else []
