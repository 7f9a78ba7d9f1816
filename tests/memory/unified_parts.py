"""Parts of the tests of memories: a model with a reply for each kind of request, and an embedder that counts words."""

import json
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from crewgraph import ScriptedLLM

__all__ = ["Answers", "ids_in", "knowing", "words"]

Answers = Mapping[str, Any] | Callable[[str], Mapping[str, Any]] | str | Exception

_FORMS = {
    "query": "recall_queries", "place": "suggested_scope", "merge": "insert_new", "extract": "one sentence each",
    "gaps": "missing",
}  # fmt: skip


def words(texts: list[str]) -> list[list[float]]:
    """An embedder with a dimension for each word."""
    rows: list[list[float]] = []
    for text in texts:
        row = [0.0] * 64
        for word in re.findall(r"\w+", text.lower()):
            row[sha256(word.encode()).digest()[0] % 64] += 1.0
        rows.append(row)
    return rows


def knowing(**answers: Answers) -> ScriptedLLM:
    """A model with a reply for each kind of request: `place`, `merge`, `extract`, `query`, `gaps`."""

    def said(messages: list[dict[str, Any]]) -> str | Exception:
        system, prompt = str(messages[0]["content"]), str(messages[1]["content"])
        kind = next(kind for kind, word in _FORMS.items() if word in system)
        answer = answers.get(kind, ConnectionError(f"no answer to {kind}"))
        if isinstance(answer, (str, Exception)):
            return answer
        return json.dumps(answer(prompt) if callable(answer) else answer)

    return ScriptedLLM(said)


def ids_in(asked: str) -> list[str]:
    """The records that a request names."""
    return re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", asked)
