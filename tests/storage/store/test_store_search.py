"""Searching by meaning."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import PutOp
from modes import Mode

from crewgraph.errors import EmbedderError
from crewgraph.storage.store import FaissStore, search_space
from crewgraph.storage.vectors.index import GrowingIndex
from storage.store.bag_of_words import Bag
from storage.store.store_face import Face


def opened(path: Path, bag: Any, *fields: str, **options: Any) -> FaissStore:
    return FaissStore(path, index={"embed": bag, "fields": list(fields) or ["text"]}, **options)


def vectors(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT count(*) FROM vectors").fetchone()[0]
    finally:
        connection.close()


def test_an_entry_is_found_by_the_best_of_its_vectors_and_once(face: Face):
    face.put(("n",), "a", {"text": "x", "parts": [{"t": "tea"}, {"t": "coffee"}, {"t": "milk"}]}, index=["parts[*].t"])
    face.put(("n",), "b", {"text": "tea coffee milk"})
    matches = face.search(("n",), query="milk")
    assert [(item.key, round(item.score or 0, 4)) for item in matches] == [("a", 1.0), ("b", 0.5774)]
    assert face.keys(("n",), query="milk", limit=1, offset=1) == ["b"]
    face.put(("n",), "a", {"parts": [{"t": "water"}]}, index=["parts[*].t"])
    assert face.keys(("n",), query="milk", limit=1) == ["b"]
    face.delete(("n",), "a")
    assert face.keys(("n",), query="water") == ["b"]


def test_what_is_not_to_be_embedded_is_found_without_a_query_only(face: Face, bag: Bag):
    face.put(("n",), "no", {"text": "tea"}, index=False)
    face.put(("n",), "yes", {"text": "tea"})
    face.put(("n",), "none", {"other": "tea"})
    assert face.keys(("n",), query="tea") == ["yes"]
    assert sorted(face.keys(("n",))) == ["no", "none", "yes"]
    assert face.keys(("n",), query="") == face.keys(("n",))
    assert bag.asked == ["tea"]


def test_a_filter_narrows_what_a_query_finds_however_far_it_is(face: Face):
    face.batch([PutOp(("n", str(n % 3)), str(n), {"text": f"tea {n}", "n": n}) for n in range(3000)])
    face.put(("n", "far"), "far", {"text": "coffee", "n": -1})
    assert face.keys(("n",), query="tea", filter={"n": {"$lt": 0}}) == ["far"]
    assert sorted(face.keys(("n",), query="tea", filter={"n": {"$lt": 3}}), key=str) == ["0", "1", "2", "far"]
    assert face.keys(("n", "0"), query="tea 2997", limit=1, filter={"n": {"$gte": 0}}) == ["2997"]
    assert len(face.search(("n",), query="tea", filter={"n": {"$gte": 1000}}, limit=100, offset=50)) == 100
    assert face.keys(("n", "1"), query="tea", filter={"n": 3}) == []


def test_a_namespace_is_searched_whole_be_it_small_or_nearly_everything(face: Face):
    face.batch([PutOp(("big", str(n % 7)), str(n), {"text": f"tea {n}"}) for n in range(900)])
    for n in range(5):
        face.put(("small",), f"small {n}", {"text": f"coffee {n}"})
    assert sorted(face.keys(("small",), query="tea 17")) == [f"small {n}" for n in range(5)]
    assert face.keys(("big",), query="tea 17", limit=1) == ["17"]
    face.put(("small",), "new", {"text": "coffee"})
    face.put(("small", "below"), "below", {"text": "coffee"})
    assert sorted(face.keys(("small",), query="coffee", limit=2)) == ["below", "new"]
    face.delete(("small",), "new")
    assert face.keys(("small",), query="coffee", limit=1) == ["below"]
    assert len(face.search(("big",), query="coffee", limit=2000)) == 900


def test_another_embedder_embeds_anew_what_it_finds_and_both_share_the_file(tmp_path: Path, mode: Mode):
    path = tmp_path / "s.db"
    first, second = Bag("first"), Bag("second", dims=32)
    with opened(path, first) as store, opened(path, second) as other:
        one_face, other_face = Face(store, mode), Face(other, mode)
        for n in range(300):
            store.put(("n",), str(n), {"text": f"tea {n}"})
        assert len(first.asked) == 300
        assert other_face.keys(("n",), query="tea 7", limit=1) == ["7"]
        assert len(second.asked) == 300
        other_face.put(("n",), "300", {"text": "coffee"})
        assert one_face.keys(("n",), query="coffee", limit=1) == ["300"]
        other_face.delete(("n",), "7")
        numbers = [str(n) for n in range(301) if n != 7]
        for face in (one_face, other_face):
            assert sorted(face.keys(("n",), query="coffee", limit=500), key=int) == numbers
        assert (len(first.asked), len(second.asked)) == (301, 301)
    assert vectors(path) == 600
    third = Bag("first")
    with opened(path, third) as again:
        assert Face(again, mode).keys(("n",), query="coffee", limit=1) == ["300"]
        assert third.asked == []


def test_other_fields_are_embedded_anew(tmp_path: Path, mode: Mode):
    path = tmp_path / "s.db"
    with opened(path, Bag(), "text") as store:
        Face(store, mode).put(("n",), "a", {"text": "tea", "title": "coffee"})
        Face(store, mode).put(("n",), "b", {"text": "coffee", "title": "tea"})
    with opened(path, Bag(), "title") as store:
        assert Face(store, mode).keys(("n",), query="coffee", limit=1) == ["a"]


def test_what_was_stored_without_an_embedder_is_embedded_before_the_first_search(tmp_path: Path, mode: Mode, bag: Bag):
    path = tmp_path / "s.db"
    with FaissStore(path, embedder=False) as store:
        face = Face(store, mode)
        for n in range(600):
            store.put(("n",), str(n), {"text": f"tea {n}"}, index=False if n % 2 else None)
        assert len(face.search(("n",), query="tea", limit=1000)) == 600  # newest first: there is nothing to compare
    with opened(path, bag) as store:
        assert len(Face(store, mode).search(("n",), query="tea", limit=1000)) == 300
        assert len(bag.asked) == 300


def test_vectors_of_another_length_are_refused(tmp_path: Path, mode: Mode):
    class Growing(Bag):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[*row, 1.0] for row in super().embed_documents(texts)]

    with FaissStore(tmp_path / "s.db", index={"embed": Bag(dims=8), "dims": 16, "fields": ["text"]}) as store:
        with pytest.raises(EmbedderError, match="vectors of length 8; expected 16. Set `dims`"):
            Face(store, mode).put(("n",), "a", {"text": "tea"})
        assert Face(store, mode).get(("n",), "a") is None
    with opened(tmp_path / "t.db", Growing(dims=8)) as store:
        face = Face(store, mode)
        face.put(("n",), "a", {"text": "tea"})
        with pytest.raises(EmbedderError, match="returned vectors of length 8, and of length 9 before"):
            face.search(("n",), query="tea")


def test_when_embedding_fails_nothing_is_written_and_the_error_is_the_embedders(tmp_path: Path, mode: Mode):
    def embed(texts: list[str]) -> list[list[float]]:
        raise ConnectionError("no line")

    with opened(tmp_path / "s.db", embed) as store:
        face = Face(store, mode)
        with pytest.raises(ConnectionError, match="no line"):
            face.put(("n",), "a", {"text": "tea"})
        with pytest.raises(ConnectionError, match="no line"):
            face.search(("n",), query="tea")
        face.put(("n",), "b", {"text": "tea"}, index=False)
        assert face.keys(()) == ["b"]


def test_nobody_waits_while_texts_are_embedded(tmp_path: Path, mode: Mode):
    path = tmp_path / "s.db"
    wrote: list[str] = []

    class Slow(Bag):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            with FaissStore(path, embedder=False, busy_timeout=20) as other:
                other.put(("other",), texts[0], {"n": 1})
            wrote.append(texts[0])
            return super().embed_documents(texts)

    with opened(path, Slow()) as store:
        face = Face(store, mode)
        face.put(("n",), "a", {"text": "tea"})
        assert face.keys(("n",), query="tea") == ["a"]
        assert wrote[0] == "tea" and len(face.keys(("other",))) == len(set(wrote))


def test_an_async_embedder_is_used_on_the_loop_it_belongs_to(tmp_path: Path):
    loops: list[asyncio.AbstractEventLoop] = []

    async def embed(texts: list[str]) -> list[list[float]]:
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return Bag().embed_documents(texts)

    async def program() -> None:
        async with opened(tmp_path / "s.db", embed) as store:
            await asyncio.gather(*(store.aput(("n",), str(n), {"text": f"tea {n}"}) for n in range(20)))
            results = await asyncio.gather(*(store.asearch(("n",), query=f"tea {n}", limit=1) for n in range(20)))
            assert [some[0].key for some in results] == [str(n) for n in range(20)]
        assert set(loops) == {asyncio.get_running_loop()}

    asyncio.run(program())


def test_the_event_loop_continues_while_the_store_works(tmp_path: Path):
    async def program() -> int:
        turns = 0

        async def turning() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0.001)
                turns += 1

        async with opened(tmp_path / "s.db", Bag()) as store:
            turner = asyncio.create_task(turning())
            for begin in range(0, 4000, 1000):
                await store.abatch([PutOp(("n",), str(n), {"text": f"t {n}"}) for n in range(begin, begin + 1000)])
            await store.asearch(("n",), query="t 5")
            turner.cancel()
        return turns

    assert asyncio.run(program()) > 5


def test_the_same_text_is_embedded_once_in_a_batch(face: Face, bag: Bag):
    face.batch([PutOp(("n",), str(n), {"text": "tea"}) for n in range(5)])
    assert bag.asked == ["tea"]
    assert len(face.search(("n",), query="tea")) == 5


def test_a_store_of_many_vectors_searches_lists_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    indexes: list[GrowingIndex] = []

    def small(dims: int) -> GrowingIndex:
        indexes.append(GrowingIndex(dims, exact_up_to=100))
        return indexes[-1]

    monkeypatch.setattr(search_space, "GrowingIndex", small)
    with opened(tmp_path / "s.db", Bag()) as store:
        store.batch([PutOp(("n",), str(n), {"text": f"tea {n}"}) for n in range(90)])
        assert store.search((), query="tea 7", limit=1)[0].key == "7" and indexes[-1].is_exact
        store.batch([PutOp(("n",), str(n), {"text": f"tea {n}"}) for n in range(90, 200)])
        assert store.search((), query="tea 7", limit=1)[0].key == "7" and not indexes[-1].is_exact
        store.batch([PutOp(("n",), str(n), None) for n in range(190)])
        assert store.search((), query="tea 195", limit=1)[0].key == "195" and indexes[-1].is_exact
