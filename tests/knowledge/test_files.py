"""Files of knowledge, and those that may not be read."""

from pathlib import Path

import pytest
from permissions import permissions_hold

from crewgraph.errors import SourceError, SourceNotFound, SourceRefused
from crewgraph.knowledge.source.base import TextFileKnowledgeSource


def text_of(*paths: str | Path, **more: object) -> list[str]:
    return list(TextFileKnowledgeSource.model_validate({"file_paths": [*paths], **more}).content.values())


def test_a_text_is_a_path_in_the_folder_for_knowledge(folder: Path):
    (folder / "a.txt").write_text("at noon")
    (folder / "deep").mkdir()
    (folder / "deep" / "b.txt").write_text("at six")
    source = TextFileKnowledgeSource(file_paths=["a.txt", "deep/b.txt"])
    assert list(source.content.values()) == ["at noon", "at six"]
    assert source.safe_file_paths == [Path("knowledge/a.txt"), Path("knowledge/deep/b.txt")]
    assert TextFileKnowledgeSource(file_path="a.txt").content == {Path("knowledge/a.txt"): "at noon"}


def test_what_lies_outside_is_refused(folder: Path, tmp_path: Path):
    outside = tmp_path / "secret.txt"
    outside.write_text("hidden")
    (folder / "link.txt").symlink_to(outside)
    (folder / "out").symlink_to(tmp_path)
    for path in (
        "../../secret.txt",
        str(outside),
        outside,
        "link.txt",
        "out/secret.txt",
        Path("../secret.txt").resolve(),
    ):
        with pytest.raises((SourceRefused, SourceNotFound)) as error:
            text_of(path)
        assert "hidden" not in str(error.value)
    with pytest.raises(PermissionError, match="outside of the folder for knowledge.*`root=`.*CREWGRAPH_KNOWLEDGE_DIR"):
        text_of("link.txt")


def test_a_link_that_stays_inside_is_followed(folder: Path):
    (folder / "a.txt").write_text("at noon")
    (folder / "b.txt").symlink_to(folder / "a.txt")
    assert text_of("b.txt") == ["at noon"]


def test_what_is_missing_is_reported_with_its_name(folder: Path):
    with pytest.raises(FileNotFoundError, match="the file `knowledge/nope.txt` .* was not found.* put it there"):
        text_of("nope.txt")
    with pytest.raises(SourceNotFound):
        text_of("x" * 5000)


def test_a_folder_is_refused_and_an_empty_file_is_a_warning(folder: Path):
    (folder / "sub").mkdir()
    (folder / "empty.txt").write_text(" \n")
    with pytest.raises(SourceError, match="sub` .* is a folder"):
        text_of("sub")
    with pytest.warns(UserWarning, match="empty.txt` is empty"):
        assert text_of("empty.txt") == [" \n"]


def test_what_may_not_be_read_is_reported(folder: Path):
    (folder / "a.txt").write_text("x")
    (folder / "a.txt").chmod(0)
    with permissions_hold(), pytest.raises(SourceError, match="a.txt` cannot be read"):
        text_of("a.txt")


def test_marks_of_encodings_are_read_and_others_told(folder: Path):
    (folder / "bom.txt").write_text("caf\u00e9", "utf-8-sig")
    (folder / "wide.txt").write_text("caf\u00e9", "utf-16")
    (folder / "latin.txt").write_bytes("caf\u00e9".encode("cp1252"))
    assert text_of("bom.txt", "wide.txt") == ["caf\u00e9", "caf\u00e9"]
    with pytest.raises(SourceError, match='`latin.txt` cannot be read as utf-8.*`encoding="cp1252"`'):
        text_of("latin.txt")
    assert text_of("latin.txt", encoding="cp1252") == ["caf\u00e9"]


def test_a_source_without_files_is_refused():
    with pytest.raises(ValueError, match="needs `file_paths`"):
        TextFileKnowledgeSource()
    with pytest.raises(ValueError, match="`file_paths` is a path, or a list of paths"):
        TextFileKnowledgeSource(file_paths=[3])
