"""Pages of the web as knowledge, from a server on loopback; and the addresses that are not asked."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from modes import Mode
from waiting import LONG

from crewgraph import extras
from crewgraph.errors import MissingExtra, SourceError, SourceRefused
from crewgraph.knowledge import files
from crewgraph.knowledge.knowledge import Knowledge
from crewgraph.knowledge.passage import Passage
from crewgraph.knowledge.source.url import URLKnowledgeSource

_PAGE = """<html><head><title>The mill</title><style>p {}</style></head><body>
<nav>Home</nav><main><h2>Hours</h2><p>Until <b>noon</b>.</p><script>no()</script>
<ul><li>bread</li></ul></main></body></html>"""


class _Site(ThreadingHTTPServer):
    daemon_threads = True
    pages: dict[str, tuple[int, dict[str, str], bytes]]
    asked: list[tuple[str, str]]

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def put(
        self, path: str, body: str | bytes = b"", kind: str = "text/html", status: int = 200, **headers: str
    ) -> str:
        data = body.encode() if isinstance(body, str) else body
        self.pages[path] = status, {"Content-Type": kind, **headers}, data
        return self.root + path


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        site: Any = self.server
        site.asked.append((self.path, self.headers["Host"]))
        if self.path == "/slow":
            self.send_response(200)
            self.end_headers()
            site.leave.wait(LONG)
            return
        status, headers, data = site.pages.get(self.path, (404, {}, b""))
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(data)
        except OSError:  # whoever asked has gone
            self.close_connection = True


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("CREWGRAPH_ALLOW_PRIVATE_URLS", "1")
    server: Any = _Site(("127.0.0.1", 0), _Handler)
    server.pages, server.asked, server.leave = {}, [], threading.Event()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.leave.set()
    server.shutdown()
    server.server_close()
    thread.join()


def read(url: str, **more: Any) -> list[Passage]:
    return URLKnowledgeSource(urls=[url], **more).passages()


def test_a_page_is_read_without_what_is_no_text(site: Any, mode: Mode):
    url = site.put("/mill", _PAGE)
    [passage] = read(url)
    assert passage.metadata == {"source": url, "heading": "The mill > Hours"}
    assert passage.text.split() == ["The", "mill", ">", "Hours", "Until", "**noon**.", "*", "bread"]
    knowledge = Knowledge("mill", [url])
    [match] = mode.run(knowledge.query, knowledge.aquery, ["mill hours until noon"])
    assert match["metadata"]["source"] == url


@pytest.mark.parametrize(
    ("name", "kind", "body", "text"),
    [
        ("/a", "text/plain", "until noon", "until noon"),
        ("/a.md", "text/plain", "# Mill\nuntil noon", "Mill\nuntil noon"),
        ("/a", "application/json", '{"mill": {"until": 12}}', "mill.until: 12"),
        ("/a.csv", "text/plain", "place,until\nmill,12\n", "place: mill, until: 12"),
        ("/a", "text/plain; charset=cp1252", "caf\u00e9".encode("cp1252"), "caf\u00e9"),
        ("/a", "text/html", "<meta charset=cp1252><p>caf\u00e9".encode("cp1252"), "caf\u00e9"),
    ],
)
def test_other_kinds_are_read_as_what_they_are(site: Any, name: str, kind: str, body: Any, text: str):
    [passage] = read(site.put(name, body, kind))
    assert passage.text.strip() == text


def test_what_cannot_be_read_is_reported_with_its_address(site: Any):
    for path, kind, body, expected in (
        ("/gone", None, None, "404"),
        ("/a.bin", "image/png", b"x", "is `image/png`, which is not read"),
        ("/bad", "application/json", "{", "is not a readable JSON"),
        ("/no.pdf", "application/pdf", "x", "is not a readable PDF file"),
    ):
        url = site.root + path if kind is None else site.put(path, body, kind)
        with pytest.raises(SourceError, match=f"{path}.*{expected}|{expected}.*{path}"):
            read(url)


def test_moved_pages_are_followed_and_not_for_ever(site: Any):
    site.put("/old", status=301, Location="/new")
    site.put("/loop", status=302, Location="/loop")
    site.put("/new", "at noon", "text/plain")
    assert read(site.root + "/old")[0].text == "at noon"
    with pytest.raises(SourceError, match="more than 5 times"):
        read(site.root + "/loop")


def test_size_and_time_are_bounded(site: Any):
    with pytest.raises(SourceError, match="larger than 1000 bytes"):
        read(site.put("/large", b"x" * 100_000, "text/plain"), max_bytes=1000)
    with pytest.raises(SourceError, match="it took longer than 0.3 seconds"):
        read(site.root + "/slow", timeout=0.3)
    with pytest.raises(SourceError, match="the response is incomplete|IncompleteRead"):
        read(site.put("/short", b"abc", "text/plain", **{"Content-Length": "500"}), timeout=LONG)


def test_private_addresses_are_not_asked(site: Any, monkeypatch: pytest.MonkeyPatch):
    url = site.put("/secret", "hidden", "text/plain")
    monkeypatch.delenv("CREWGRAPH_ALLOW_PRIVATE_URLS")
    for other in (url, url.replace("127.0.0.1", "localhost"), url.replace("127.0.0.1", "2130706433")):
        with pytest.raises(
            SourceRefused, match="an address of this machine or of a private network.*allow_private=True"
        ):
            read(other)
    assert site.asked == []
    assert read(url, allow_private=True)[0].text == "hidden"
    monkeypatch.setenv("CREWGRAPH_ALLOW_PRIVATE_URLS", "1")
    with pytest.raises(PermissionError):
        read(url, allow_private=False)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "0.0.0.0", "100.64.0.1",
        "224.0.0.1", "::1", "fe80::1", "fc00::1", "::ffff:127.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1", "::",
    ],
)  # fmt: skip
def test_no_form_of_a_private_address_passes_for_a_public_one(monkeypatch: pytest.MonkeyPatch, address: str):
    def looked_up(*_: Any, **__: Any) -> list[Any]:
        return [(0, 0, 0, "", ("93.184.216.34", 80)), (0, 0, 0, "", (address, 80))]

    monkeypatch.setattr(files.socket, "getaddrinfo", looked_up)
    with pytest.raises(SourceRefused):
        read("http://example.org/")


def test_a_page_that_moves_to_a_private_address_is_not_followed(site: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("CREWGRAPH_ALLOW_PRIVATE_URLS")
    site.put("/out", status=302, Location=site.root.replace("127.0.0.1", "inner.example") + "/secret")
    port = site.server_address[1]
    # The first name is public, as far as anybody can tell; what it leads to is not.
    real = files._is_public  # pyright: ignore[reportPrivateUsage]
    seen: list[str] = []

    def public(address: str) -> bool:
        seen.append(address)
        return len(seen) == 1 or real(address)

    monkeypatch.setattr(files, "_is_public", public)

    def looked_up(*_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, 1, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(files.socket, "getaddrinfo", looked_up)
    with pytest.raises(SourceRefused, match="inner.example.*is at 127.0.0.1"):
        read(f"http://outer.example:{port}/out")
    assert site.asked == [("/out", f"outer.example:{port}")]


def test_a_name_is_looked_up_once_and_what_was_checked_is_asked(site: Any, monkeypatch: pytest.MonkeyPatch):
    url = site.put("/a", "at noon", "text/plain").replace("127.0.0.1", "mill.example")
    lookups: list[Any] = []

    def look_up(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        lookups.append(host)
        return [(socket.AF_INET, 1, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(files.socket, "getaddrinfo", look_up)
    assert read(url)[0].text == "at noon"
    assert lookups.count("mill.example") == 1 and site.asked[0][1].startswith("mill.example:")


@pytest.mark.parametrize(
    "url", ["ftp://example.org/a", "file:///etc/passwd", "https://", "http://exa mple.org", "http://a:b:c"]
)
def test_only_addresses_of_the_web_are_taken(url: str):
    with pytest.raises((SourceError, ValueError), match="is not an address that can be fetched"):
        URLKnowledgeSource(urls=[url])


def test_passwords_in_addresses_are_refused_and_not_repeated():
    with pytest.raises(SourceError, match="`example.org` has a user name or password") as error:
        URLKnowledgeSource(urls=["https://user:secret@example.org/a"])
    assert "secret" not in str(error.value)


def test_a_missing_package_is_reported_with_the_pip_line(site: Any, monkeypatch: pytest.MonkeyPatch):
    url = site.put("/mill", _PAGE)

    def missing(name: str) -> None:
        raise ImportError(name, name=name)

    monkeypatch.setattr(extras.importlib, "import_module", missing)
    with pytest.raises(MissingExtra, match=r'pip install "crewgraph\[web\]"'):
        read(url)
