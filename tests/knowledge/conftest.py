"""A project with a folder for knowledge."""

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for knowledge of the working directory."""
    monkeypatch.delenv("CREWGRAPH_KNOWLEDGE_DIR", raising=False)
    monkeypatch.delenv("CREWGRAPH_ALLOW_PRIVATE_URLS", raising=False)
    home = tmp_path / "project"
    folder = home / "knowledge"
    folder.mkdir(parents=True)
    monkeypatch.chdir(home)
    return folder
