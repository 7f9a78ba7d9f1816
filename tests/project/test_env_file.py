"""Keys in a `.env`."""

import os
from pathlib import Path

import pytest

from crewgraph.errors import DefinitionError
from crewgraph.project import load_env


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", {**os.environ})
    return tmp_path


def test_its_variables_are_set_where_they_are_not_yet(folder: Path):
    os.environ["SET_BEFORE"] = "as it was"
    (folder / ".env").write_text(
        "\ufeff# keys\n\nSET_BEFORE=another\nPLAIN = a b  # and more\nexport SHELL_LIKE=x\nEMPTY=\n"
        'SINGLE=\'a # b \\n\'\nDOUBLE="a \\"b\\"\\n\\\\" # c\nHASH=a#b\nTWICE=1\nTWICE=2\nCOMMENTED= # nothing\nURL=http://x/?a=b\n',
        "utf-8",
    )
    assert load_env()
    found = {name: os.environ.get(name) for name in ("SET_BEFORE", "PLAIN", "SHELL_LIKE", "EMPTY", "SINGLE", "DOUBLE")}
    assert found == {
        "SET_BEFORE": "as it was",
        "PLAIN": "a b",
        "SHELL_LIKE": "x",
        "EMPTY": None,
        "SINGLE": "a # b \\n",
        "DOUBLE": 'a "b"\n\\',
    }
    assert [os.environ.get(name) for name in ("HASH", "TWICE", "COMMENTED", "URL")] == [
        "a#b",
        "2",
        None,
        "http://x/?a=b",
    ]


def test_there_need_not_be_one(folder: Path):
    assert not load_env() and not load_env(folder / "other.env")


@pytest.mark.parametrize("line", ["sk-secret", "1A=x", "A-B=x", "A='x", 'A="x', "A=x\0y", "=sk-secret"])
def test_a_line_that_is_no_variable_is_reported_without_its_text(folder: Path, line: str):
    (folder / ".env").write_text(f"FIRST=1\n{line}\n")
    with pytest.raises(DefinitionError, match="line 2") as caught:
        load_env()
    assert "secret" not in str(caught.value) and "FIRST" not in os.environ


def test_a_file_that_cannot_be_read_is_reported(folder: Path):
    (folder / ".env").mkdir()
    (folder / "x.env").write_bytes(b"\xff\xfe")
    for path in (".env", "x.env"):
        with pytest.raises(DefinitionError, match="cannot read"):
            load_env(path)
