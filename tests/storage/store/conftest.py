"""A store in a file, with the embedder of the tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from modes import Mode

from crewgraph.storage.store import FaissStore
from storage.store.bag_of_words import Bag
from storage.store.store_face import Face


@pytest.fixture
def bag() -> Bag:
    return Bag()


@pytest.fixture
def store(tmp_path: Path, bag: Bag) -> Iterator[FaissStore]:
    with FaissStore(tmp_path / "store.db", index={"embed": bag, "dims": bag.dims, "fields": ["text"]}) as store:
        yield store


@pytest.fixture
def face(store: FaissStore, mode: Mode) -> Face:
    return Face(store, mode)
