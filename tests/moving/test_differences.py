"""The differences that are told of programs are those of the page, and each leads to something that programs use."""

from crewgraph_compat.moving.differences import differences_of
from crewgraph_compat.moving.features import (
    Feature,
    FeatureKind,
    accepted_keywords,
    accepts_any_keyword,
    known_attributes,
)
from crewgraph_compat.moving.names import import_location, resolve_name
from crewgraph_compat.surface.names import MODULES, names_of, own_target

from moving.differences import data, page_rows, written

AGAIN = (
    "the page and the data differ: run `PYTHONPATH=tests python -m moving.differences`, and give new rows their `of`"
)
OWN = {module: {name: own_target(module, name) or "" for name in names_of(module)} for module in sorted(MODULES)}
TARGETS = {name: where for names in OWN.values() for name, where in names.items()}


def test_the_data_says_what_the_page_says():
    rows, unseen = data()
    there = [row.words for row in page_rows()]
    assert [row.row for row in rows if row.words not in there] == [], AGAIN
    assert sorted([*(row.row for row in rows), *unseen]) == sorted(row.row for row in there), AGAIN


def test_making_the_data_anew_changes_nothing():
    rows, unseen = data()
    made = written(page_rows(), rows)
    assert made.count("[[difference]]") == len(rows) and all(one in made for one in ("unseen = [", rows[0].here))
    assert len(unseen) + len(rows) == len(page_rows())


def features() -> list[str]:
    return sorted({one for row in data()[0] for one in row.of})


def test_what_a_difference_is_told_can_be_used():
    assert [said for said in features() if not can_be_used(meant_by(said))] == []


def can_be_used(feature: Feature) -> bool:
    """Whether a feature leads to something that there is, and to differences."""
    there = True
    if feature.sort is FeatureKind.keyword:
        there = feature.word in accepted_keywords(feature.owner) or accepts_any_keyword(feature.owner)
    elif feature.word and feature.sort is not FeatureKind.override:  # which may be of what only CrewAI has
        there = feature.word in known_attributes(feature.owner) | {"execute"} | set(accepted_keywords(feature.owner))
    return bool(feature.owner or feature.path) and there and bool(differences_of(feature))


def meant_by(said: str) -> Feature:
    """The feature that a difference is told of."""
    if said.startswith("class("):
        return Feature(FeatureKind.base, said, owner=TARGETS[said[6:-1]])
    if said.startswith("@"):
        return Feature(FeatureKind.bare, said, owner=TARGETS[said[1:]])
    if said.startswith("override "):
        owner, _, word = said.removeprefix("override ").partition(".")
        return Feature(FeatureKind.override, said, owner=TARGETS[owner], word=word)
    if said.startswith("await "):
        owner, _, word = said.removeprefix("await ").partition(".")
        return Feature(FeatureKind.awaited, said, owner=TARGETS[owner], word=word)
    owner, bracket, rest = said.partition("(")
    owner, _, word = owner.partition(".")
    if bracket and word:
        return Feature(FeatureKind.argument, said, owner=TARGETS[owner], word=rest.partition("=")[0], of_method=word)
    if bracket:
        keyword, _, value = rest[:-1].partition("=")
        return Feature(FeatureKind.keyword, said, owner=TARGETS[owner], word=keyword, value=value)
    if word:
        return Feature(FeatureKind.attribute, said, owner=TARGETS[owner], word=word)
    paths = [f"{module}.{said}" for module, names in OWN.items() if said in names]
    return Feature(FeatureKind.imported, said, path=paths[0] if paths else "")


def test_every_name_of_the_table_has_a_home():
    homes = {
        path: import_location(name)
        for module, names in OWN.items()
        for one in names
        if (name := resolve_name(path := f"{module}.{one}"))
    }
    assert homes["crewai.Agent"] == ("crewgraph", "Agent")
    assert homes["crewai.flow.flow.Flow"] == ("crewgraph.flow", "Flow")
    assert {module.partition(".")[0] for module, _ in homes.values()} <= {"crewgraph", "crewgraph_compat"}
