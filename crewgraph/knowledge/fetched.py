"""Pages of the web: fetched only from public addresses, unless it is said otherwise.

A name is looked up once, and the address that was checked is the one that is connected to: a name server that answers
differently the next time leads nowhere else. Each redirect is checked anew.
"""

import http.client
import ipaddress
import socket
import ssl
import threading
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

from crewgraph.errors import SourceError, SourceRefused
from crewgraph.settings import flag

__all__ = ["FetchedPage", "Fetcher", "checked_url"]

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
