"""The store in plain LangGraph programs."""

from pathlib import Path
from typing import TypedDict

from langgraph.config import get_store
from langgraph.runtime import Runtime
from modes import Mode, graph_of

from crewgraph.storage.store import FaissStore
from storage.store.bag_of_words import Bag


class State(TypedDict, total=False):
    said: str
    known: list[str]


def opened(path: Path) -> FaissStore:
    return FaissStore(path, index={"embed": Bag(), "fields": ["text"]})


def remember(state: State, runtime: Runtime[None]) -> State:
    assert runtime.store is not None
    runtime.store.put(("memories", "ada"), state.get("said", ""), {"text": state.get("said", "")})
    return {}


async def aremember(state: State, runtime: Runtime[None]) -> State:
    assert runtime.store is not None
    await runtime.store.aput(("memories", "ada"), state.get("said", ""), {"text": state.get("said", "")})
    return {}


def recall(state: State) -> State:
    matches = get_store().search(("memories",), query=state.get("said", ""), limit=2)
    return {"known": [item.value["text"] for item in matches]}


async def arecall(state: State) -> State:
    matches = await get_store().asearch(("memories",), query=state.get("said", ""), limit=2)
    return {"known": [item.value["text"] for item in matches]}


def test_nodes_of_a_graph_put_and_search(tmp_path: Path, mode: Mode):
    with opened(tmp_path / "s.db") as store:
        app = graph_of(
            State,
            {
                "remember": aremember if mode.asynchronous else remember,
                "recall": arecall if mode.asynchronous else recall,
            },
            store=store,
        )
        mode.invoke(app, {"said": "green tea"})
        mode.invoke(app, {"said": "black coffee"})
        assert mode.invoke(app, {"said": "tea please"})["known"] == ["tea please", "green tea"]
    with opened(tmp_path / "s.db") as store:
        assert len(store.search(("memories", "ada"))) == 3
