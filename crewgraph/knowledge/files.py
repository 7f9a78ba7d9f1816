"""Reading files and fetching web pages for knowledge sources.

Files must be inside the knowledge folder. Pages are fetched from public addresses only, unless allowed otherwise: a name is
resolved once and the checked address is the one connected to, so that a name server cannot redirect the connection. Each
redirect is checked in the same way.
"""

import http.client
import ipaddress
import socket
import ssl
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import SplitResult, urljoin, urlsplit

from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import CrewgraphError, SourceError, SourceNotFound, SourceRefused
from crewgraph.settings import flag, knowledge_dir

_BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def resolve_file(path: str | Path, root: str | Path | None = None) -> Path:
    """The path of a knowledge file, checked to be inside the folder; it may not exist.

    Args:
        path: a text is relative to the knowledge folder; a `Path` to the working directory or that folder.
        root: the knowledge folder; `knowledge_dir()` if None.

    Raises:
        SourceRefused: it is outside the folder, possibly through a link (also PermissionError).
    """
    folder = knowledge_dir() if root is None else Path(root).expanduser()
    candidates = [folder / path, Path(path)] if isinstance(path, str) else [path, folder / path]
    file = next((candidate for candidate in candidates if _is_there(candidate)), candidates[0])
    home, target = folder.resolve(), file.resolve()
    if not target.is_relative_to(home):
        raise SourceRefused(
            f"the knowledge source `{path}` is `{target}`, outside of the folder for knowledge, `{home}`. Put the file into "
            "that folder; or, to read it in place, give the source its folder (`root=`), or all sources "
            "(CREWGRAPH_KNOWLEDGE_DIR)."
        )
    return file


def check_file(file: Path, source: str, root: str | Path | None = None) -> None:
    """Check that the file of a source is one.

    Raises:
        SourceNotFound: it does not exist (also FileNotFoundError).
        SourceError: it is not a file.
    """
    if not _is_there(file):
        folder = knowledge_dir() if root is None else Path(root).expanduser()
        raise SourceNotFound(
            f"the file `{file}` of the knowledge source `{source}` was not found. Knowledge files are in the folder "
            f"`{folder}`: put it there and name it by its path in that folder, or pass another `root=` to the source."
        )
    if not file.is_file():
        raise SourceError(
            f"`{file}` of the knowledge source `{source}` is a folder or not a regular file; name a file in it"
        )


def _is_there(place: Path) -> bool:
    try:
        return place.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def display_name(file: Path, root: str | Path | None = None) -> str:
    """A file's path relative to the knowledge folder, which is the same on every machine."""
    folder = knowledge_dir() if root is None else Path(root).expanduser()
    target = file.resolve()
    home = folder.resolve()
    return target.relative_to(home).as_posix() if target.is_relative_to(home) else target.as_posix()


def read_file(file: Path) -> bytes:
    """Read a file; an empty one is a warning.

    Raises:
        SourceNotFound: it no longer exists.
        SourceError: it cannot be read.
    """
    try:
        data = file.read_bytes()
    except FileNotFoundError as error:
        raise SourceNotFound(f"the knowledge source `{file}` no longer exists") from error
    except OSError as error:
        raise SourceError(f"the knowledge source `{file}` cannot be read: {error}") from error
    if not data.strip():
        warnings.warn(
            f"the knowledge source `{file}` is empty; add content, or remove it", stacklevel=user_stacklevel()
        )
    return data


def decode_text(data: bytes, name: str, encoding: str | None = None) -> str:
    """Decode bytes as UTF-8, or as their byte order mark says.

    Args:
        data: the bytes.
        name: their origin, for messages.
        encoding: the encoding, if known.

    Raises:
        SourceError: they have another encoding.
    """
    encoding_used = encoding or next((codec for mark, codec in _BYTE_ORDER_MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding_used)
    except (UnicodeDecodeError, LookupError) as error:
        raise SourceError(
            f"the knowledge source `{name}` cannot be read as {encoding_used}: {error}. Save it as UTF-8, or set "
            'its encoding: `encoding="cp1252"`.'
        ) from error


_PORTS = {"http": 80, "https": 443}
_REDIRECTS = {301, 302, 303, 307, 308}
_MAX_REDIRECTS = 5
_CHUNK_BYTES = 1 << 16
_OPT_OUT = "CREWGRAPH_ALLOW_PRIVATE_URLS"


@dataclass(frozen=True)
class FetchedPage:
    """A fetched page."""

    url: str
    """The final address, after redirects."""

    kind: str
    """The media type, such as `text/html`."""

    charset: str | None
    data: bytes


@dataclass(frozen=True, kw_only=True)
class Fetcher:
    """Fetches pages."""

    allow_private: bool | None = None
    """Whether private addresses are allowed; None for CREWGRAPH_ALLOW_PRIVATE_URLS."""

    timeout: float
    """Seconds for a page, including redirects."""

    max_bytes: int
    """The maximum size of a page."""

    def fetch(self, url: str) -> FetchedPage:
        """Fetch a page.

        Raises:
            SourceRefused: the address, or a redirect, is private (also PermissionError).
            SourceError: it cannot be fetched, takes too long, or is too large.
        """
        deadline, location = time.monotonic() + self.timeout, url
        for _ in range(_MAX_REDIRECTS + 1):
            result = self._request(parse_url(location), deadline)
            if isinstance(result, FetchedPage):
                return result
            location = urljoin(location, result)
        raise SourceError(f"the knowledge source `{url}` redirects more than {_MAX_REDIRECTS} times")

    def _request(self, at: SplitResult, deadline: float) -> "FetchedPage | str":
        """The page, or the address that it redirects to."""
        url = at.geturl()
        connection = self._connect(at, deadline)
        timer = threading.Timer(max(deadline - time.monotonic(), 0), _abort, [connection])
        timer.start()
        try:
            path = (at.path or "/") + (f"?{at.query}" if at.query else "")
            headers = {"User-Agent": "crewgraph", "Accept-Encoding": "identity", "Accept": "text/html,text/*,*/*;q=0.5"}
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            location = response.getheader("Location")
            if response.status in _REDIRECTS and location:
                return location
            if response.status != 200:
                raise SourceError(
                    f"the knowledge source `{url}` cannot be fetched: {response.status} {response.reason}"
                )
            kind = response.headers.get_content_type()
            return FetchedPage(url, kind, response.headers.get_content_charset(), self._body(response, url))
        except (OSError, http.client.HTTPException) as error:
            timed_out = time.monotonic() >= deadline
            reason = (
                f"it took longer than {self.timeout:g} seconds" if timed_out else f"{type(error).__name__}: {error}"
            )
            raise SourceError(f"the knowledge source `{url}` cannot be fetched: {reason}") from error
        finally:
            timer.cancel()
            connection.close()

    def _body(self, response: http.client.HTTPResponse, url: str) -> bytes:
        data = bytearray()
        while part := response.read(_CHUNK_BYTES):
            data += part
            if len(data) > self.max_bytes:
                raise SourceError(
                    f"the knowledge source `{url}` is larger than {self.max_bytes} bytes; give the source more `max_bytes`"
                )
        if response.length:  # the connection ended early
            raise SourceError(f"the knowledge source `{url}` cannot be fetched: the response is incomplete")
        return bytes(data)

    def _connect(self, at: SplitResult, deadline: float) -> http.client.HTTPConnection:
        host, port = at.hostname or "", at.port or _PORTS[at.scheme]
        addresses = self._addresses(at.geturl(), host, port)
        failure: OSError | None = None
        for address in addresses:
            remaining = max(deadline - time.monotonic(), 0.001)
            try:
                plain: object = socket.create_connection(address, remaining)
                if at.scheme == "https":
                    plain = ssl.create_default_context().wrap_socket(plain, server_hostname=host)
            except OSError as error:
                failure = error
                continue
            connection = http.client.HTTPConnection(host, port, timeout=remaining)
            connection.sock, connection.default_port = plain, _PORTS[at.scheme]
            return connection
        raise SourceError(f"the knowledge source `{at.geturl()}` cannot be reached: {failure}") from failure

    def _addresses(self, url: str, host: str, port: int) -> list[tuple[str, int]]:
        try:
            infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise SourceError(f"the knowledge source `{url}` cannot be found: {error}") from error
        addresses = list(dict.fromkeys((str(info[4][0]), port) for info in infos))
        allowed = flag(_OPT_OUT) if self.allow_private is None else self.allow_private
        private = [address for address, _ in addresses if not _is_public(address)]
        if private and not allowed:
            raise SourceRefused(
                f"the knowledge source `{url}` is at {private[0]}, an address of this machine or of a private network. Only "
                f"public addresses are fetched by default; to allow it, set `allow_private=True` on this source, or {_OPT_OUT}=1."
            )
        return addresses


def parse_url(url: str) -> SplitResult:
    """Parse and validate an address.

    Raises:
        SourceError: it cannot be fetched.
    """
    try:
        at = urlsplit(url)
        usable = at.scheme in _PORTS and bool(at.hostname) and at.port != 0
    except ValueError:
        usable = False
    if not usable or any(sign.isspace() or ord(sign) < 32 for sign in url):
        raise SourceError(
            f"the knowledge source `{url}` is not an address that can be fetched; use one that starts with https://"
        )
    at = urlsplit(url)
    if at.username is not None:
        raise SourceError(
            f"the knowledge source at `{at.hostname}` has a user name or password in its address; remove it"
        )
    return at._replace(fragment="")


def _is_public(address: str) -> bool:
    parsed = ipaddress.ip_address(address.partition("%")[0])
    inner = getattr(parsed, "ipv4_mapped", None) or getattr(parsed, "sixtofour", None)
    teredo: Any = getattr(parsed, "teredo", None)
    addresses = [parsed, *([inner] if inner else []), *(teredo or ())]
    if isinstance(parsed, ipaddress.IPv6Address) and parsed in ipaddress.ip_network("64:ff9b::/96"):
        addresses.append(ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF))
    return all(item.is_global and not item.is_multicast for item in addresses)


def _abort(connection: http.client.HTTPConnection) -> None:
    """Interrupt a connection that waits."""
    sock = connection.sock
    if sock is not None:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:  # it has ended by itself
            return


T = TypeVar("T")


def read_or_fail(kind: str, name: str, read: Callable[[], T]) -> T:
    """Call a reader, converting its errors: arbitrary files make parsers raise anything.

    Args:
        kind: the kind of file, such as "PDF file".
        name: the file's origin, for messages.
        read: the reader.

    Raises:
        SourceError: the reader failed.
    """
    try:
        return read()
    except CrewgraphError:
        raise
    except Exception as error:  # malformed files make parsers raise anything
        reason = f"{type(error).__name__}: {error}"
        raise SourceError(f"the knowledge source `{name}` is not a readable {kind}: {reason:.300}") from error
