"""Texts in chunks."""

from typing import Any

import pytest

from crewgraph.knowledge.passage import markdown_sections, split_chunks
from crewgraph.knowledge.source.base import StringKnowledgeSource
from crewgraph.knowledge.source.text_files import delimiter_of, json_as_text, rows_as_text, rows_of_csv


def test_each_chunk_begins_with_the_end_of_the_one_before():
    assert split_chunks("abcdefghij" * 3, 10, 3) == ["abcdefghij", "hijabcdefg", "efghijabcd", "bcdefghij"]


def test_a_chunk_ends_at_a_paragraph_a_sentence_or_a_blank_that_is_near():
    assert split_chunks("One two. Six ten. Red blue.", 20, 0) == ["One two. Six ten. ", "Red blue."]
    assert split_chunks("aaaa bbbb\n\ncccc dddd eeee", 14, 0) == ["aaaa bbbb\n\n", "cccc dddd eeee"]
    assert split_chunks("aaaaaaaa bbbb cccc", 14, 0) == ["aaaaaaaa bbbb ", "cccc"]


@pytest.mark.parametrize(("size", "overlap"), [(10, 10), (10, 11), (0, 0), (10, -1)])
def test_sizes_that_lead_nowhere_are_refused(size: int, overlap: int):
    with pytest.raises(ValueError, match="`chunk_overlap`"):
        split_chunks("text", size, overlap)
    with pytest.raises(ValueError, match="`chunk_overlap`"):
        StringKnowledgeSource(content="text", chunk_size=size, chunk_overlap=overlap)


def test_sections_of_markdown_stand_under_their_headings():
    text = "intro\n# A\none\n## B ##\ntwo\n```\n# no heading\n```\n# C\nthree\n"
    assert [(section.text, section.metadata) for section in markdown_sections(text)] == [
        ("intro", {}),
        ("A\none", {"heading": "A"}),
        ("A > B\ntwo\n```\n# no heading\n```", {"heading": "A > B"}),
        ("C\nthree", {"heading": "C"}),
    ]


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_the_delimiter_of_a_table_is_found(sign: str):
    text = f"name{sign}age\nBo{sign}5\nLi{sign}6\n"
    assert delimiter_of(text) == sign
    assert rows_as_text(rows_of_csv(text)) == "name: Bo, age: 5\nname: Li, age: 6"


def test_quotes_empty_cells_and_longer_rows_are_read():
    assert rows_as_text(rows_of_csv('name,age\n"Li, A",\nBo,5,x\n\n')) == "name: Li, A\nname: Bo, age: 5, x"
    assert rows_as_text([["only", "heads"]]) == "only, heads"


def test_each_value_of_json_says_where_it_stands():
    value: Any = {"crew": {"members": [{"name": "Bo"}, 2]}, "open": True, "none": None, "empty": []}
    assert json_as_text(value) == "crew.members[0].name: Bo\ncrew.members[1]: 2\nopen: true\nnone: none\nempty: nothing"
    assert json_as_text("word") == "word"
