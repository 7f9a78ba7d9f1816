"""Ids of events are UUIDs, and no two processes draw the same."""

import os
from uuid import UUID

import pytest

from crewgraph.events.base import new_id


def test_an_id_is_a_random_uuid_and_no_other_is_like_it():
    ids = [new_id() for _ in range(2_000)]
    assert len(set(ids)) == len(ids)
    assert {UUID(text).version for text in ids} == {4}
    assert all(str(UUID(text)) == text for text in ids)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_draws_other_ids():
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, new_id().encode())
        os._exit(0)
    os.waitpid(child, 0)
    with os.fdopen(reader) as reported:
        os.close(writer)
        assert reported.read() != new_id()
