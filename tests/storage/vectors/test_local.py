import asyncio
import hashlib
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import processes
import pytest
from combinations import of
from hypothesis import given, settings
from hypothesis import strategies as st
from modes import Mode

from crewgraph.storage.vectors.local import LocalEmbeddings
from crewgraph.storage.vectors.resolve import embedder_of

TEXTS = [
    "The tide comes at six.", "Die Flut kommt um sechs.", "潮水六点来。", "customerId = getCustomer()", "", "?!",
    "Ελλάδα",
]  # fmt: skip


def near(first: str, second: str, dimensions: int = 256) -> float:
    embeddings = LocalEmbeddings(dimensions)
    return float(np.dot(embeddings.embed_query(first), embeddings.embed_query(second)))


def digest(vectors: list[list[float]]) -> str:
    return hashlib.sha256(np.array(vectors, "<f8").tobytes()).hexdigest()[:16]


def test_without_anything_given_the_embedder_is_local():
    embedder = embedder_of(None)
    assert embedder.name == "local/1/256"
    assert isinstance(embedder.embeddings, LocalEmbeddings)
    assert embedder_of(None) is embedder


def test_vectors_have_length_one_whatever_the_text(mode: Mode):
    embeddings = LocalEmbeddings()
    vectors = mode.run(embeddings.embed_documents, embeddings.aembed_documents, TEXTS)
    assert [len(vector) for vector in vectors] == [256] * len(TEXTS)
    assert np.linalg.norm(np.array(vectors), axis=1) == pytest.approx([1.0] * len(TEXTS))
    assert mode.run(embeddings.embed_query, embeddings.aembed_query, TEXTS[0]) == vectors[0]


def test_a_change_of_any_vector_is_seen_here_and_needs_a_new_version_in_the_name():
    embeddings = LocalEmbeddings()
    assert (embeddings.name, digest(embeddings.embed_documents(TEXTS))) == ("local/1/256", "3988c8617eed93b6")


def test_another_process_with_another_hash_seed_gives_the_same_vectors():
    program = (
        "import json, sys; from crewgraph.storage.vectors.local import LocalEmbeddings; "
        "json.dump(LocalEmbeddings(64).embed_documents(json.load(sys.stdin)), sys.stdout)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    done = processes.run(
        [sys.executable, "-c", program],
        input=json.dumps(TEXTS),
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    assert json.loads(done.stdout) == LocalEmbeddings(64).embed_documents(TEXTS)


def test_what_was_embedded_before_does_not_matter_nor_do_threads():
    texts = [" ".join(f"word{n}x{m}" for m in range(40)) for n in range(300)]  # three times what is kept
    fresh = [LocalEmbeddings().embed_query(text) for text in texts[::50]]
    shared = LocalEmbeddings()
    with ThreadPoolExecutor(8) as threads:
        vectors = list(threads.map(shared.embed_query, texts))
    assert vectors[::50] == fresh


def test_case_accents_and_punctuation_make_no_difference():
    assert near("Café, Müller & Søn!", "cafe muller SØN") == pytest.approx(1)
    assert near("ﬁle ①", "file 1") == pytest.approx(1)


def test_identifiers_are_their_words():
    assert near("getCustomerId", "get customer_id") == pytest.approx(1)
    assert near("HTTPServerError", "http server error") == pytest.approx(1)


def test_inflected_and_misspelt_words_are_near_and_others_are_not():
    assert near("deliveries were delayed", "delivery delays") > 0.4
    assert near("logistics department", "logistcs departmnt") > 0.3
    assert abs(near("logistics department", "purple elephant")) < 0.2


def test_chinese_is_found_by_a_part_of_a_sentence():
    assert near("销售额增长", "第二季度的销售额比去年同期增长了百分之十五。") > 0.3


def test_filler_words_hardly_count():
    assert near("what is the tide", "tide") > 0.9
    assert near("the who and what", "of which") < 0.9


def test_synonyms_are_not_understood():
    assert abs(near("physician", "doctor")) < 0.2


def test_the_size_is_part_of_the_name_and_has_a_least_value():
    assert LocalEmbeddings(1024).name == "local/1/1024"
    assert len(LocalEmbeddings(300).embed_query("x")) == 300
    with pytest.raises(ValueError, match="at least 16 `dimensions`, not 4"):
        LocalEmbeddings(4)


@settings(max_examples=of(40, 200))
@given(st.text(st.characters(), max_size=200))
def test_any_text_has_a_vector(text: str):
    vector = asyncio.run(LocalEmbeddings(32).aembed_query(text))
    assert len(vector) == 32
    assert np.isfinite(vector).all()
