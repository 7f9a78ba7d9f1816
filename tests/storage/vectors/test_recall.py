"""The recall of the local embedder is what the pages say."""

import json

from benchmarks import recall


def test_the_table_of_the_page_is_what_is_measured():
    page = recall.PAGE.read_text("utf-8")
    assert page.split(recall.MARKS[0])[1].split(recall.MARKS[1])[0].strip() == recall.table()


def test_the_pairs_are_whole():
    pairs = json.loads(recall.PAIRS.read_text("utf-8"))
    assert len(set(pairs["texts"].values())) == len(pairs["texts"]) == 63
    assert {query["text"] for query in pairs["queries"]} <= set(pairs["texts"])
    assert len({query["query"] for query in pairs["queries"]}) == len(pairs["queries"]) == 82
