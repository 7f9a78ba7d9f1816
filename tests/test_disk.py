"""Files are replaced atomically."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from waiting import LONG

from crewgraph.disk import PRIVATE, replace_file

FULL = """
import resource, signal, sys
from crewgraph.disk import replace_file

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, resource.RLIM_INFINITY))
try:
    replace_file(sys.argv[1], "x" * 2_000)
except OSError as error:
    print(error.strerror)
"""


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(os.name == "nt", reason="limits on the size of files are Unix's")
def test_a_file_on_a_full_disk_keeps_what_it_had(tmp_path: Path):
    path = tmp_path / "notes.json"
    path.write_text("old", "utf-8")
    done = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True)
    assert (done.stdout, path.read_text("utf-8")) == ("File too large\n", "old")
    assert [file.name for file in tmp_path.iterdir()] == ["notes.json"]


def test_a_text_that_cannot_be_encoded_changes_nothing(tmp_path: Path):
    path = tmp_path / "notes.json"
    path.write_text("old", "utf-8")
    with pytest.raises(UnicodeEncodeError):
        replace_file(path, "\ud800")
    assert [(file.name, file.read_text("utf-8")) for file in tmp_path.iterdir()] == [("notes.json", "old")]


def test_permissions_and_links_stay(tmp_path: Path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old", "utf-8")
    target.chmod(0o640)
    link.symlink_to(target)
    replace_file(link, "new", mode=PRIVATE)
    assert (target.read_text("utf-8"), permissions(target), link.is_symlink()) == ("new", 0o640, True)


def test_a_new_file_has_the_permissions_it_is_given(tmp_path: Path):
    replace_file(tmp_path / "private", b"new", mode=PRIVATE)
    replace_file(tmp_path / "plain", "new")
    (tmp_path / "like").write_text("new", "utf-8")
    assert permissions(tmp_path / "private") == PRIVATE
    assert permissions(tmp_path / "plain") == permissions(tmp_path / "like")


def test_of_writers_at_once_one_has_the_last_word(tmp_path: Path):
    path = tmp_path / "notes"
    texts = [str(number) * 10_000 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(partial(replace_file, path), texts * 4))
    assert path.read_text("utf-8") in texts
    assert [file.name for file in tmp_path.iterdir()] == ["notes"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such pipes")
def test_a_pipe_is_written_to(tmp_path: Path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(path.read_text, "utf-8")
        replace_file(path, "new")
        assert read.result(LONG) == "new"
    assert path.is_fifo()


def test_a_folder_is_not_replaced(tmp_path: Path):
    with pytest.raises(IsADirectoryError if os.name != "nt" else PermissionError):
        replace_file(tmp_path, "new")


def test_a_missing_folder_is_an_error(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "none" / "notes", "new")
