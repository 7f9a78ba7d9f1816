"""The real crewai_tools on crewgraph, with files of each kind, and a web server on loopback."""

import importlib
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import crewgraph_compat
import pytest
from servers.any_host import AnyHost, any_host

PAGE = "<html><head><title>Port</title></head><body><h1>Kiel</h1><p id='k'>The keeper of the lock is Wiebke.</p></body></html>"
WEB: dict[str, Any] = {
    "https://google.serper.dev/search": {
        "organic": [{"title": "Tide", "link": "https://t.example", "snippet": "at noon"}]
    },
    "/": PAGE,
}


@pytest.fixture(scope="module")
def tools() -> Iterator[Any]:
    """The package, imported on crewgraph."""
    with crewgraph_compat.installed():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            package = importlib.import_module("crewai_tools")
        yield package


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file of each kind, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.txt").write_text("The harbour master of Kiel is called Wiebke Harms.\nThe crane is green.\n")
    (tmp_path / "b.json").write_text(json.dumps({"boats": [{"name": "Otto", "port": "Husum"}]}))
    (tmp_path / "c.csv").write_text("basin,depth\nnorth,12 metres\nsouth,4 metres\n")
    (tmp_path / "m.mdx").write_text("# Tides\n\nHigh tide is at noon on Mondays.\n")
    (tmp_path / "x.xml").write_text("<port><keeper>Wiebke keeps the lock</keeper></port>")
    return tmp_path


@pytest.fixture
def web(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[AnyHost]:
    """All hosts on loopback, which scrapers are configured to allow."""
    with any_host(dict(WEB), tmp_path_factory.mktemp("certificates")) as there:
        for name, value in there.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("CREWAI_TOOLS_ALLOW_UNSAFE_PATHS", "true")
        for service in ("SERPER", "EXA", "BRAVE"):
            monkeypatch.setenv(f"{service}_API_KEY", f"key of {service}")
        yield there
