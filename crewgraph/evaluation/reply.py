"""The mark in what a model replied."""

from collections.abc import Mapping
from typing import Any, cast

from crewgraph.evaluation.score import EvaluationScore
from crewgraph.text import extract_json, shorten

__all__ = ["extract_json_from_llm_response", "mark_in"]

_SHOWN = 200


def extract_json_from_llm_response(text: str) -> dict[str, Any]:
    """The JSON object in what a model wrote, also between words or in a fence.

    Raises:
        ValueError: there is none.
    """
    found = extract_json(text)
    if not isinstance(found, dict):
        raise ValueError(f"there is no JSON object in the reply {shorten(text, _SHOWN)!r}")
    return cast("dict[str, Any]", found)


def mark_in(reply: str) -> EvaluationScore:
    """The mark that a model gave; one without a score, with why, where the reply has none that can be read."""
    try:
        found = extract_json_from_llm_response(reply)
        score = _score(found)
        return EvaluationScore(score=score, feedback=_feedback(found) or reply, raw_response=reply)
    except (TypeError, ValueError) as error:
        problem = f"The reply holds no mark from 0 to 10: {shorten(reply, _SHOWN)!r} ({type(error).__name__})"
        return EvaluationScore(score=None, feedback=problem, raw_response=reply)


def _score(found: Mapping[str, Any]) -> float | None:
    for name in ("overall_score", "score"):
        if name in found:
            return None if found[name] is None else float(found[name])
    parts = [float(one) for one in _parts(found).values() if one is not None]
    if not parts:
        raise ValueError("no score")
    return sum(parts) / len(parts)


def _parts(found: Mapping[str, Any]) -> Mapping[str, Any]:
    parts = found.get("scores")
    return cast("Mapping[str, Any]", parts) if isinstance(parts, Mapping) else {}


def _feedback(found: Mapping[str, Any]) -> str:
    marks = [f"{name.replace('_', ' ').capitalize()}: {mark}/10" for name, mark in _parts(found).items()]
    better = found.get("improvement_suggestions") or found.get("optimization_suggestions")
    seen = found.get("detected_patterns")
    texts = [
        "\n".join(marks),
        _told(found.get("feedback")),
        f"Patterns: {_told(seen, ', ')}" if seen else "",
        f"To do better: {_told(better)}" if better else "",
    ]
    return "\n\n".join(text for text in texts if text)


def _told(value: Any, between: str = " ") -> str:
    if isinstance(value, list):
        return between.join(str(one) for one in cast("list[Any]", value))
    return "" if value is None else str(value)
