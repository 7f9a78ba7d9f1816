"""A proxy on loopback that answers for any host, also over TLS."""

import datetime
import ipaddress
import json
import ssl
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

__all__ = ["AnyHost", "Asked", "any_host"]


@dataclass(frozen=True)
class Asked:
    """A request that arrived."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class AnyHost:
    """The pages by address without query, as texts (pages) or data (JSON); a bare path belongs to this server."""

    pages: dict[str, Any]
    certificates: Path
    """The file with the certificate that is to be trusted."""

    address: str = ""
    """Of the proxy."""

    asked: list[Asked] = field(default_factory=list[Asked])

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables that a program needs to use it."""
        bundle = dict.fromkeys(("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "CURL_CA_BUNDLE"), str(self.certificates))
        proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), self.address)
        return {**bundle, **proxies, "NO_PROXY": "", "no_proxy": ""}


class _Authority:
    """Signs a certificate for each host."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "crewgraph's tests")])
        usage = dict.fromkeys(
            (
                "digital_signature", "content_commitment", "key_encipherment", "data_encipherment",
                "key_agreement", "encipher_only", "decipher_only",
            ),
            False,
        )  # fmt: skip
        certificate = self._builder(self._name, self._key)
        certificate = certificate.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        certificate = certificate.add_extension(
            x509.KeyUsage(key_cert_sign=True, crl_sign=True, **usage), critical=True
        )
        self.file = folder / "authority.pem"
        self.file.write_bytes(_pem(certificate.sign(self._key, hashes.SHA256())))

    def context(self, host: str) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host[:60])])
        alternative = x509.SubjectAlternativeName([_alternative(host)])
        signed = self._builder(name, key).add_extension(alternative, critical=False).sign(self._key, hashes.SHA256())
        file = self._folder / f"{host.replace(':', '_')}.pem"
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        file.write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()) + _pem(signed))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _builder(self, name: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        day = datetime.timedelta(days=1)
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(self._name).public_key(key.public_key())
        # Python 3.13 requires both.
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(authority, critical=False)
        return builder.serial_number(x509.random_serial_number()).not_valid_before(now - day).not_valid_after(now + day)


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _handler(web: AnyHost, context: Callable[[str], ssl.SSLContext]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        origin = ""

        def do_CONNECT(self) -> None:
            host = self.path.rpartition(":")[0]
            self.connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            inside = type("Inside", (Handler,), {"origin": f"https://{host}"})
            with context(host).wrap_socket(self.connection, server_side=True) as secured:
                inside(secured, self.client_address, self.server)
            self.close_connection = True

        def answer(self) -> None:
            url = (self.origin + self.path).removeprefix(web.address)
            length = int(self.headers.get("content-length") or 0)
            web.asked.append(Asked(self.command, url, dict(self.headers.items()), self.rfile.read(length)))
            page = web.pages.get(url.partition("?")[0])
            text = page if isinstance(page, str) else json.dumps({"error": f"no {url}"} if page is None else page)
            kind = "text/html; charset=utf-8" if isinstance(page, str) else "application/json"
            body = text.encode()
            self.send_response(404 if page is None else 200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_POST = do_HEAD = answer

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


@contextmanager
def any_host(pages: dict[str, Any], folder: Path) -> Generator[AnyHost]:
    """Serve pages, for as long as the block lasts.

    Args:
        pages: addresses, without their query, to texts or data.
        folder: where certificates are written.
    """
    authority = _Authority(folder)
    web = AnyHost(pages, authority.file)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(web, authority.context))
    server.daemon_threads = True
    web.address = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
        thread.join(60)
