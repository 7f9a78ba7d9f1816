"""The image tool: accepted and rejected inputs."""

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from crewgraph.errors import ToolFailed
from crewgraph.tools.image import AddImageTool

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def url(location: str) -> str:
    message: dict[str, Any] = AddImageTool().run(image_url=location)
    return message["content"][1]["image_url"]["url"]


def test_it_has_crewais_name_and_arguments():
    tool = AddImageTool()
    assert tool.name == "Add image to content"
    assert list(tool.spec["parameters"]["properties"]) == ["image_url", "action"]
    assert tool.spec["parameters"]["required"] == ["image_url"]
    assert tool.spec["name"] == "add_image_to_content"


def test_it_returns_a_message_with_the_question_and_the_image():
    assert AddImageTool().run(image_url="https://example.com/a.png", action="What is this?") == {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        ],
    }


@pytest.mark.parametrize(
    ("beginning", "kind"),
    [(PNG, "png"), (b"\xff\xd8\xff\xe0", "jpeg"), (b"GIF89a", "gif"), (b"RIFF\x00\x00\x00\x00WEBP", "webp")],
)
def test_a_file_is_sent_along_by_its_content_whatever_its_name(here: Path, beginning: bytes, kind: str):
    (here / "sub").mkdir()
    (here / "sub" / "a.txt").write_bytes(beginning)
    assert url("sub/a.txt") == f"data:image/{kind};base64,{base64.b64encode(beginning).decode()}"
    assert url(str(here / "sub" / "a.txt")) == url("sub/a.txt")


@pytest.mark.parametrize("location", ["../secret.png", "/etc/passwd", "link.png", "sub/../../secret.png"])
def test_nothing_outside_of_the_working_directory_is_read(here: Path, location: str):
    (here.parent / "secret.png").write_bytes(PNG)
    (here / "link.png").symlink_to(here.parent / "secret.png")
    with pytest.raises(ToolFailed, match=r"is outside of the working directory"):
        url(location)


def test_no_other_kind_of_file_is_sent(here: Path):
    (here / "keys.png").write_text("secret")
    with pytest.raises(ToolFailed, match=r"`keys\.png` is no PNG, JPEG, GIF or WebP image"):
        url("keys.png")


@pytest.mark.parametrize(
    "location", ["nothing.png", ".", "a\0b", "x" * 5000, "", "ftp://h/a.png", "file:///etc/passwd"]
)
def test_a_missing_file_is_reported(location: str):
    with pytest.raises(
        ToolFailed, match=r"(is no file\.|cannot be read: .*) Give an http\(s\) or data URL, or the path of"
    ):
        url(location)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_special_files_do_not_block(here: Path):
    os.mkfifo(here / "pipe.png")
    with pytest.raises(ToolFailed, match=r"`pipe\.png` is no file"):
        url("pipe.png")


def test_other_data_urls_are_rejected():
    with pytest.raises(ToolFailed, match="is no image"):
        url("data:text/html,<script>")


def test_a_large_image_is_refused_without_being_read(here: Path):
    with (here / "large.png").open("wb") as file:
        file.truncate(6_000_000_000)
    with pytest.raises(ToolFailed, match=r"`large\.png` is too large: 6000\.0 MB, and at most 5 MB"):
        url("large.png")
    with pytest.raises(ToolFailed, match=r"the data URL is too large: 6\.0 MB"):
        url("data:image/png;base64," + "A" * 8_000_000)
