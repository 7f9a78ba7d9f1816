"""Requests a process from the fork server: `launcher.py ADDRESS ARGUMENTS` is Python with these arguments, within milliseconds.

The process has the launcher's streams, folder and environment, receives its signals and ends with it. The launcher exits with
its status.
"""

import json
import os
import signal
import socket
import sys

__all__ = ["begin"]


def begin(
    address: str, arguments: list[str], folder: str, environment: dict[str, str], streams: list[int], new_session: bool
) -> tuple[socket.socket, int]:
    """Start a program; return its connection and its process id.

    When it has ended, its wait status comes over the connection; it is killed when the connection is closed before.
    """
    life = socket.socket(socket.AF_UNIX)
    life.connect(address)
    job = json.dumps([arguments, folder, environment, new_session]).encode()
    socket.send_fds(life, [len(job).to_bytes(4, "big")], streams)
    life.sendall(job)
    return life, int(life.recv(16, socket.MSG_WAITALL))


def main() -> None:
    """Act as the requested process for our parent."""
    life, pid = begin(sys.argv[1], sys.argv[2:], os.getcwd(), dict(os.environ), [0, 1, 2], False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, lambda number, _: os.kill(pid, number))
    os.close(0)  # only the program has it, so that writers notice its end
    os.close(1)
    code = os.waitstatus_to_exitcode(int(life.recv(16) or b"9"))
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
