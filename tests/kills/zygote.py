"""A process that has everything imported and forks a child for each case: killing costs a fork, not an import.

Reads cases as JSON lines, answers each with `{"status": ..., "output": ...}`; a child that was killed has status -9.
"""

import json
import os
import sys
import traceback

from kills.program import Case, play


def _child(case: Case, write: int) -> None:
    try:
        os.write(write, play(case).encode())
        code = 0
    except BaseException:  # noqa: BLE001 - told to the test
        os.write(write, traceback.format_exc().encode())
        code = 1
    os._exit(code)


def main() -> None:
    for line in sys.stdin:
        case = Case(**json.loads(line))
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            _child(case, write)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            output = pipe.read().decode()
        _, status = os.waitpid(pid, 0)
        sys.stdout.write(json.dumps({"status": os.waitstatus_to_exitcode(status), "output": output}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
