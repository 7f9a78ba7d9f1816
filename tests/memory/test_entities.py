"""Entities found by rule: what it finds, and what it cannot."""

import pytest

from crewgraph.memory.items import extract_entities

CASES: list[tuple[str, list[str]]] = [
    ("Ada Lovelace met Charles Babbage in London.", ["Ada Lovelace", "Charles Babbage", "London"]),
    ("The Bank of England stands in the City.", ["Bank of England", "City"]),
    ("However, rain fell. Tides rise. It was cold.", []),
    ("In Bonn the NASA report was read. NASA agreed.", ["Bonn", "NASA"]),
    ('They call it "deep water", and „tiefes Wasser“.', ["deep water", "tiefes Wasser"]),
    ("鲁迅写了《呐喊》，里面有「阿Q」。", ["呐喊", "阿Q"]),
    ("- Marie Curie: physicist\n- Lise Meitner: physicist", ["Marie Curie", "Lise Meitner"]),
    ("Élise Dupont works for Orange.", ["Élise Dupont", "Orange"]),
    ("", []),
]


@pytest.mark.parametrize(("text", "names"), CASES, ids=[case[0][:20] for case in CASES])
def test_names_and_marked_terms_are_found(text: str, names: list[str]):
    assert sorted(entity.name for entity in extract_entities(text)) == sorted(names)


def test_each_has_the_sentence_that_it_stands_in():
    first, second = extract_entities("We sailed to Kiel. There lives Ada Lovelace, in Kiel.")
    assert (first.name, first.type, first.description) == ("Kiel", "name", "We sailed to Kiel.")
    assert second.description == "There lives Ada Lovelace, in Kiel."


def test_there_are_not_too_many():
    assert len(extract_entities(" ".join(f"We met Ada {chr(65 + n)}x." for n in range(26)), most=5)) == 5


def test_names_of_languages_without_capital_letters_are_not_found_unless_marked():
    assert extract_entities("上海的港口有三艘船。") == []
