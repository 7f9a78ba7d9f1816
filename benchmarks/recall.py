"""recall@3 of an embedder on fixed pairs of query and text, by the kind of difference between them.

python -m benchmarks.recall            # the local embedder beside counting shared words
python -m benchmarks.recall --write    # the table into docs/embedders.md
"""

import argparse
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from crewgraph.storage.vectors.local import LocalEmbeddings

__all__ = ["MARKS", "PAGE", "PAIRS", "main", "table"]

PAIRS = Path(__file__).with_name("recall_pairs.json")
PAGE = Path(__file__).parent.parent / "docs" / "embedders.md"
FIRST = 3
MARKS = ("<!-- recall -->", "<!-- /recall -->")

Scores = Callable[[str, Sequence[str]], Sequence[float]]


def shared_words(query: str, texts: Sequence[str]) -> list[float]:
    """What one would write in a minute: how many words query and text share, of those that either has."""
    wanted = set(re.findall(r"\w+", query.lower()))
    found = [set(re.findall(r"\w+", text.lower())) for text in texts]
    return [len(wanted & words) / len(wanted | words) for words in found]


def by(embeddings: LocalEmbeddings) -> Scores:
    kept: dict[int, np.ndarray] = {}

    def scores(query: str, texts: Sequence[str]) -> list[float]:
        if id(texts) not in kept:
            kept[id(texts)] = np.array(embeddings.embed_documents(list(texts)))
        return (kept[id(texts)] @ np.array(embeddings.embed_query(query))).tolist()

    return scores


def found(pairs: dict, scores: Scores) -> dict[str, list[bool]]:
    """For each kind of query, whether its text is among the first; a score of zero finds nothing."""
    names, texts = list(pairs["texts"]), list(pairs["texts"].values())
    kinds: dict[str, list[bool]] = {}
    for asked in pairs["queries"]:
        given = scores(asked["query"], texts)
        ranked = sorted(range(len(texts)), key=lambda at: -given[at])[:FIRST]
        hit = any(names[at] == asked["text"] and given[at] > 0 for at in ranked)
        kinds.setdefault(asked["kind"], []).append(hit)
    return kinds


def table() -> str:
    pairs = json.loads(PAIRS.read_text("utf-8"))
    ways = {"local, 256": by(LocalEmbeddings()), "local, 1024": by(LocalEmbeddings(1024)), "shared words": shared_words}
    measured = {way: found(pairs, scores) for way, scores in ways.items()}
    lines = [f"| query | pairs | {' | '.join(ways)} |", "|---|---:|" + "---:|" * len(ways)]
    for kind, hits in next(iter(measured.values())).items():
        lines.append(f"| {kind} | {len(hits)} | " + " | ".join(_share(measured[way][kind]) for way in ways) + " |")
    every = {way: [hit for hits in kinds.values() for hit in hits] for way, kinds in measured.items()}
    lines.append(f"| **all** | {len(pairs['queries'])} | " + " | ".join(_share(hits) for hits in every.values()) + " |")
    return "\n".join(lines)


def _share(hits: list[bool]) -> str:
    return f"{sum(hits) / len(hits):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="recall@3 on fixed pairs")
    parser.add_argument("--write", action="store_true", help="put the table into docs/embedders.md")
    made = table()
    if parser.parse_args().write:
        before, rest = PAGE.read_text("utf-8").split(MARKS[0])
        PAGE.write_text(f"{before}{MARKS[0]}\n{made}\n{MARKS[1]}{rest.split(MARKS[1])[1]}", "utf-8")
    print(made)


if __name__ == "__main__":
    main()
