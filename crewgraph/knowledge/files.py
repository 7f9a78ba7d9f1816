"""Files of knowledge: found in their folder, and read.

Pages of the web: fetched only from public addresses, unless it is said otherwise.

A name is looked up once, and the address that was checked is the one that is connected to: a name server that answers
differently the next time leads nowhere else. Each redirect is checked anew.

Readers of files by others, whose failures name the file.
"""

import http.client
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import SplitResult, urljoin, urlsplit

from crewgraph.errors import CrewgraphError, SourceError, SourceNotFound, SourceRefused
from crewgraph.settings import flag, knowledge_dir

__all__ = ["FetchedPage", "Fetcher", "checked_url", "decoded", "found_file", "read_as", "read_file", "shown"]


_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def found_file(given: str | Path, root: str | Path | None = None) -> Path:
    """The file that is meant, as the program may open it.

    Args:
        given: a text is a path in the folder for knowledge; a `Path` is one in the working directory, or in that folder.
        root: the folder for knowledge; `knowledge_dir()` where None.

    Raises:
        SourceNotFound: there is no such file (also FileNotFoundError).
        SourceRefused: it lies outside of the folder, or leads out of it (also PermissionError).
        SourceError: it is no file.
    """
    folder = knowledge_dir() if root is None else Path(root).expanduser()
    places = [folder / given, Path(given)] if isinstance(given, str) else [given, folder / given]
    file = next((place for place in places if _is_there(place)), None)
    if file is None:
        raise SourceNotFound(
            f"there is no file `{places[0]}` for the knowledge source `{given}`. Files of knowledge lie in the folder "
            f"`{folder}`: put it there and name it by its path in that folder, or give the source another `root=`."
        )
    home, target = folder.resolve(), file.resolve()
    if not target.is_relative_to(home):
        raise SourceRefused(
            f"the knowledge source `{given}` is `{target}`, outside of the folder for knowledge, `{home}`. Put the file into "
            "that folder; or, if it is to be read where it is, give the source the folder it lies in (`root=`), or all sources "
            "(CREWGRAPH_KNOWLEDGE_DIR)."
        )
    if not target.is_file():
        raise SourceError(f"the knowledge source `{given}` is a folder, or no file to be read; name a file in it")
    return file


def _is_there(place: Path) -> bool:
    try:
        return place.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def shown(file: Path, root: str | Path | None = None) -> str:
    """What a file is called: its path in the folder for knowledge, the same on every machine."""
    folder = knowledge_dir() if root is None else Path(root).expanduser()
    target = file.resolve()
    home = folder.resolve()
    return target.relative_to(home).as_posix() if target.is_relative_to(home) else target.as_posix()


def read_file(file: Path) -> bytes:
    """What is in a file.

    Raises:
        SourceNotFound: it is not there any more.
        SourceError: it cannot be read, or is empty.
    """
    try:
        data = file.read_bytes()
    except FileNotFoundError as error:
        raise SourceNotFound(f"the knowledge source `{file}` is not there any more") from error
    except OSError as error:
        raise SourceError(f"the knowledge source `{file}` cannot be read: {error}") from error
    if not data.strip():
        raise SourceError(f"the knowledge source `{file}` is empty; fill it, or leave it out")
    return data


def decoded(data: bytes, name: str, encoding: str | None = None) -> str:
    """Bytes as text: UTF-8, or what a mark at the beginning says.

    Args:
        data: the bytes.
        name: where they are from, for messages.
        encoding: how they are written, where it is known.

    Raises:
        SourceError: they are written otherwise.
    """
    written = encoding or next((one for mark, one in _MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(written)
    except (UnicodeDecodeError, LookupError) as error:
        raise SourceError(
            f"the knowledge source `{name}` cannot be read as {written}: {error}. Save it as UTF-8, or say how it is written: "
            '`encoding="cp1252"`.'
        ) from error


_PORTS = {"http": 80, "https": 443}
_MOVED = {301, 302, 303, 307, 308}
_HOPS = 5
_PART = 1 << 16
_OPT_OUT = "CREWGRAPH_ALLOW_PRIVATE_URLS"


@dataclass(frozen=True)
class FetchedPage:
    """What was at an address."""

    url: str
    """Where it was in the end."""

    kind: str
    """What it is, as `text/html`."""

    charset: str | None
    data: bytes


@dataclass(frozen=True, kw_only=True)
class Fetcher:
    """How pages are fetched."""

    allow_private: bool | None = None
    """Whether private addresses may be asked; what CREWGRAPH_ALLOW_PRIVATE_URLS says where None."""

    timeout: float
    """Seconds for a page, all of its redirects together."""

    max_bytes: int
    """The most bytes of a page."""

    def fetch(self, url: str) -> FetchedPage:
        """What is at an address.

        Raises:
            SourceRefused: it is a private address, or leads to one (also PermissionError).
            SourceError: it cannot be fetched, takes too long, or is too large.
        """
        deadline, at = time.monotonic() + self.timeout, url
        for _ in range(_HOPS + 1):
            answer = self._asked(checked_url(at), deadline)
            if isinstance(answer, FetchedPage):
                return answer
            at = urljoin(at, answer)
        raise SourceError(f"the knowledge source `{url}` leads from one address to the next, more than {_HOPS} times")

    def _asked(self, at: SplitResult, deadline: float) -> "FetchedPage | str":
        """The page, or the address that it has moved to."""
        url = at.geturl()
        connection = self._connected(at, deadline)
        ends = threading.Timer(max(deadline - time.monotonic(), 0), _shut, [connection])
        ends.start()
        try:
            path = (at.path or "/") + (f"?{at.query}" if at.query else "")
            headers = {"User-Agent": "crewgraph", "Accept-Encoding": "identity", "Accept": "text/html,text/*,*/*;q=0.5"}
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            moved = answer.getheader("Location")
            if answer.status in _MOVED and moved:
                return moved
            if answer.status != 200:
                raise SourceError(f"the knowledge source `{url}` cannot be fetched: {answer.status} {answer.reason}")
            kind = answer.headers.get_content_type()
            return FetchedPage(url, kind, answer.headers.get_content_charset(), self._body(answer, url))
        except (OSError, http.client.HTTPException) as error:
            late = time.monotonic() >= deadline
            why = f"it took longer than {self.timeout:g} seconds" if late else f"{type(error).__name__}: {error}"
            raise SourceError(f"the knowledge source `{url}` cannot be fetched: {why}") from error
        finally:
            ends.cancel()
            connection.close()

    def _body(self, answer: http.client.HTTPResponse, url: str) -> bytes:
        data = bytearray()
        while part := answer.read(_PART):
            data += part
            if len(data) > self.max_bytes:
                raise SourceError(
                    f"the knowledge source `{url}` is larger than {self.max_bytes} bytes; give the source more `max_bytes`"
                )
        if answer.length:  # the connection ended early
            raise SourceError(f"the knowledge source `{url}` cannot be fetched: its end is missing")
        return bytes(data)

    def _connected(self, at: SplitResult, deadline: float) -> http.client.HTTPConnection:
        host, port = at.hostname or "", at.port or _PORTS[at.scheme]
        addresses = self._addresses(at.geturl(), host, port)
        failure: OSError | None = None
        for address in addresses:
            left = max(deadline - time.monotonic(), 0.001)
            try:
                plain: Any = socket.create_connection(address, left)
                if at.scheme == "https":
                    plain = ssl.create_default_context().wrap_socket(plain, server_hostname=host)
            except OSError as error:
                failure = error
                continue
            connection = http.client.HTTPConnection(host, port, timeout=left)
            connection.sock, connection.default_port = plain, _PORTS[at.scheme]
            return connection
        raise SourceError(f"the knowledge source `{at.geturl()}` cannot be reached: {failure}") from failure

    def _addresses(self, url: str, host: str, port: int) -> list[tuple[str, int]]:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise SourceError(f"the knowledge source `{url}` cannot be found: {error}") from error
        addresses = list(dict.fromkeys((str(one[4][0]), port) for one in found))
        allowed = flag(_OPT_OUT) if self.allow_private is None else self.allow_private
        private = [address for address, _ in addresses if not _is_public(address)]
        if private and not allowed:
            raise SourceRefused(
                f"the knowledge source `{url}` is at {private[0]}, an address of this machine or of a private network. Agents "
                f"are told only what is public, unless you say so: `allow_private=True` for this source, or {_OPT_OUT}=1."
            )
        return addresses


def checked_url(url: str) -> SplitResult:
    """An address in its parts.

    Raises:
        SourceError: it is none that can be fetched.
    """
    try:
        at = urlsplit(url)
        usable = at.scheme in _PORTS and bool(at.hostname) and at.port != 0
    except ValueError:
        usable = False
    if not usable or any(sign.isspace() or ord(sign) < 32 for sign in url):
        raise SourceError(
            f"the knowledge source `{url}` is no address that can be fetched; give one that begins with https://"
        )
    at = urlsplit(url)
    if at.username is not None:
        raise SourceError(
            f"the knowledge source at `{at.hostname}` has a name or password in its address; leave it out"
        )
    return at._replace(fragment="")


def _is_public(address: str) -> bool:
    read = ipaddress.ip_address(address.partition("%")[0])
    inner = getattr(read, "ipv4_mapped", None) or getattr(read, "sixtofour", None)
    teredo: Any = getattr(read, "teredo", None)
    within = [read, *([inner] if inner else []), *(teredo or ())]
    if isinstance(read, ipaddress.IPv6Address) and read in ipaddress.ip_network("64:ff9b::/96"):
        within.append(ipaddress.IPv4Address(int(read) & 0xFFFFFFFF))
    return all(one.is_global and not one.is_multicast for one in within)


def _shut(connection: http.client.HTTPConnection) -> None:
    """End what a connection waits for."""
    sock = connection.sock
    if sock is not None:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:  # it has ended by itself
            return


T = TypeVar("T")


def read_as(kind: str, name: str, read: Callable[[], T]) -> T:
    """What a reader gives; files from anywhere make readers raise whatever there is.

    Args:
        kind: what it reads: "PDF file".
        name: where the file is from, for messages.
        read: the reader.

    Raises:
        SourceError: it cannot read this.
    """
    try:
        return read()
    except CrewgraphError:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise SourceError(f"the knowledge source `{name}` is no {kind} that can be read: {why:.300}") from error
