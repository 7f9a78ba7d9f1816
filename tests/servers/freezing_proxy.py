"""A proxy in front of a PostgreSQL server that can freeze: it stays open, accepts and acknowledges, and forwards nothing."""

import select
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

__all__ = ["FreezingProxy", "running_proxy"]

_SIZE = 1 << 16  # bytes


class FreezingProxy:
    """A running proxy.

    Args:
        dsn: the address of the server, on a Unix socket.
    """

    def __init__(self, dsn: str) -> None:
        self._server = str(Path(str(conninfo_to_dict(dsn)["host"])) / ".s.PGSQL.5432")
        self._flows = threading.Event()
        self._flows.set()
        self._is_closed = False
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.dsn = make_conninfo(dsn, host="127.0.0.1", port=port)
        """The address of the server behind the proxy."""
        threading.Thread(target=self._accept, daemon=True).start()

    def freeze(self) -> None:
        """Forward nothing more, in either direction."""
        self._flows.clear()

    def thaw(self) -> None:
        """Forward again, first what has come meanwhile."""
        self._flows.set()

    def cut(self) -> None:
        """Close all connections, as `idle_session_timeout` or a restart would."""
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._is_closed = True
        self._flows.set()
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._sockets.append(client)
                threading.Thread(target=self._forward, args=[client], daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        self._flows.wait()
        with client, socket.socket(socket.AF_UNIX) as server, suppress(OSError):
            server.connect(self._server)
            self._sockets.append(server)
            while not self._is_closed:
                for ready in select.select([client, server], [], [])[0]:
                    self._flows.wait()
                    data = ready.recv(_SIZE)
                    if not data:
                        return
                    (server if ready is client else client).sendall(data)


@contextmanager
def running_proxy(dsn: str) -> Generator[FreezingProxy]:
    """A proxy, closed at the end."""
    proxy = FreezingProxy(dsn)
    try:
        yield proxy
    finally:
        proxy.close()
