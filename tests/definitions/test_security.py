"""Fingerprints, which identify definitions in audits."""

import re
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from pydantic import ValidationError

from crewgraph import Agent, Crew, Task
from crewgraph.definitions.base import Fingerprint, SecurityConfig


def test_every_definition_has_a_fingerprint_of_its_own():
    agent = Agent(role="r", goal="g", backstory="b")
    task = Task(description="d", expected_output="e", agent=agent)
    crew = Crew(agents=[agent], tasks=[task])
    prints = [one.fingerprint for one in (agent, task, crew)]
    assert len({one.uuid_str for one in prints}) == 3
    assert agent.fingerprint is agent.security_config.fingerprint
    assert UUID(prints[0].uuid_str) == prints[0].uuid
    assert (datetime.now() - prints[0].created_at).total_seconds() < 60


def test_the_same_seed_gives_the_same_identity():
    assert Fingerprint.generate("team a") == Fingerprint.generate("team a")
    assert Fingerprint.generate("team a") != Fingerprint.generate("team b")
    assert Fingerprint.generate() != Fingerprint.generate()
    assert Fingerprint.generate("team a", {"owner": "x"}).metadata == {"owner": "x"}


@pytest.mark.parametrize("seed", ["", "  "])
def test_a_blank_seed_is_refused(seed: str):
    with pytest.raises(ValueError, match="the seed of a fingerprint is blank"):
        Fingerprint.generate(seed)


def test_fingerprints_come_back_from_plain_data():
    made = Fingerprint.generate("team a", {"owner": "x"})
    back = Fingerprint.from_dict(made.to_dict())
    assert (back, back.created_at, back.metadata) == (made, made.created_at, {"owner": "x"})
    config = SecurityConfig(fingerprint=made)
    assert SecurityConfig.from_dict(config.to_dict()).fingerprint == made
    assert SecurityConfig.from_dict({}).fingerprint != made


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ({"a": {"b": {"c": 1}}}, "`a.b` is a dict, and only values of the first level may be dicts. Flatten it."),
        ({"a": "x" * 9_992}, "it has 10,001 characters as text, and 10,000 are allowed. Store the rest elsewhere."),
        ({1: "x"}, "the key 1 is not a string."),
        ({"a": {2: "x"}}, "the key 2 in `a` is not a string."),
    ],
)
def test_metadata_that_are_too_deep_or_too_large_are_refused(metadata: Any, problem: str):
    for make in (
        lambda: Fingerprint(metadata=metadata),
        lambda: Fingerprint.generate("team a", metadata),
        lambda: Fingerprint.from_dict({"metadata": metadata}),
    ):
        with pytest.raises(
            ValidationError, match=re.escape(f"the metadata of a fingerprint cannot be used: {problem}")
        ):
            make()


def test_fingerprints_are_equal_by_identity_and_can_be_kept_in_sets():
    assert len({Fingerprint.generate("a"), Fingerprint.generate("a"), Fingerprint.generate("b")}) == 2
    assert Fingerprint.generate("a") != "a"
