"""File sources, their content types, and invalid files."""

import asyncio
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from crewgraph.contrib.files.file import (
    AudioFile,
    BaseFile,
    File,
    FileBytes,
    FileChanged,
    FilePath,
    FileProcessingError,
    FileTooLargeError,
    FileUrl,
    ImageFile,
    PDFFile,
    TextFile,
    normalize_input_files,
    read_input_files,
)
from crewgraph.contrib.files.record import content_of, record_files

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 20


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chart.png").write_bytes(PNG)
    (tmp_path / "notes.md").write_text("# Tides\n")
    return tmp_path


@pytest.mark.parametrize(
    ("made", "name", "kind"),
    [
        (lambda: ImageFile(source="chart.png"), "chart.png", "image/png"),
        (lambda: File(source="notes.md"), "notes.md", "text/markdown"),
        (lambda: File(source=b"%PDF-1.4 x"), None, "application/pdf"),
        (lambda: TextFile(source=FileBytes(data=b"a,b", filename="q.csv")), "q.csv", "text/csv"),
        (lambda: File(source=io.BytesIO(b"abc")), None, "text/plain"),
        (lambda: AudioFile(source=b"OggS...\x00"), None, "audio/ogg"),
        (lambda: File(source=b"\x00\xff\xfe"), None, "application/octet-stream"),
        (lambda: ImageFile(source=FileBytes(data=b"no image", filename="x.png")), "x.png", "text/plain"),
        (lambda: ImageFile(source="https://example.org/a/chart.jpg?x=1"), "chart.jpg", "image/jpeg"),
        (lambda: File(source=FileBytes(data="ü".encode() * 3000, filename=None)), None, "text/plain"),
    ],
)
def test_a_file_is_what_its_content_says(made: Callable[[], BaseFile], name: str | None, kind: str):
    file = made()
    assert (file.filename, file.content_type) == (name, kind)


def test_a_file_is_read_as_bytes_as_text_and_without_blocking():
    file = File(source="notes.md")
    assert (file.read(), file.read_text(), asyncio.run(file.aread())) == (b"# Tides\n", "# Tides\n", b"# Tides\n")
    assert {**file} == {"notes": file}


def test_an_open_file_is_read_once_and_known_by_its_name(folder: Path):
    with (folder / "notes.md").open("rb") as stream:
        stream.read(3)
        file = File(source=stream)
        assert (file.filename, file.read(), file.read()) == ("notes.md", b"# Tides\n", b"# Tides\n")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("missing.txt", "there is no file `missing.txt`"),
        ("../notes.md", "contains `..`"),
        ("link", "leads out of the working directory"),
        (".", "is not a regular file"),
        (5, "int is not a file"),
    ],
)
def test_what_is_no_file_here_is_refused(folder: Path, given: object, message: str):
    (folder / "link").symlink_to(Path(__file__))
    with pytest.raises(ValidationError, match=message):
        File(source=given)


def test_a_file_larger_than_it_may_be_is_refused():
    with pytest.raises(FileTooLargeError, match="`chart.png` has 28 bytes, more than the 3 of `max_size_bytes`"):
        FilePath(path=Path("chart.png"), max_size_bytes=3)


def test_what_is_behind_an_address_is_not_fetched():
    with pytest.raises(FileProcessingError, match="is not fetched"):
        ImageFile(source="https://example.org/x.png").read()
    with pytest.raises(ValidationError, match="is not an http"):
        FileUrl(url="ftp://example.org/x.png")


def test_files_are_given_by_name_or_as_a_list():
    assert {name: type(file) for name, file in read_input_files({"a": "chart.png", "b": b"x"}).items()} == {
        "a": ImageFile,
        "b": TextFile,
    }
    listed = normalize_input_files(["chart.png", b"abc", PDFFile(source=b"%PDF-1"), "https://example.org/p.png"])
    assert list(listed) == ["chart.png", "file_1", "file_2", "file_3"]
    assert read_input_files(None) == {}
    with pytest.raises(ValueError, match="pass files by name"):
        read_input_files("chart.png")


def test_a_run_keeps_files_by_path_and_digest_and_bytes_whole(folder: Path):
    records = record_files(read_input_files({"a": "notes.md", "b": b"abc", "c": "https://example.org/x.png"}))
    assert records["a"].get("path") == str(folder / "notes.md")
    assert "data" not in records["a"]
    assert (records["b"].get("data"), records["b"]["size"]) == ("YWJj", 3)
    assert (content_of(records["a"]), content_of(records["b"])) == (b"# Tides\n", b"abc")
    assert records["c"].get("url") == "https://example.org/x.png"
    (folder / "notes.md").write_text("other")
    with pytest.raises(FileChanged, match="has changed since"):
        content_of(records["a"])
    (folder / "notes.md").unlink()
    with pytest.raises(FileChanged, match="can no longer be read"):
        content_of(records["a"])
