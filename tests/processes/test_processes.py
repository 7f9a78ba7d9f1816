"""A forked Python process behaves like a newly started one."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_until

import processes

PROGRAMS = {
    "arguments": ["-c", "import sys; print(sys.argv, sys.path[0], __name__, __builtins__.len([1]))", "a", "-b", ""],
    "output without an end of line": ["-c", "import sys; sys.stdout.write('ä'); sys.stderr.write('é')"],
    "input": ["-c", "import sys; print(sys.stdin.read().upper(), end='')"],
    "a folder": ["-c", "import os; print(os.getcwd(), sorted(os.listdir()))"],
    "an environment": ["-c", "import os; print(sorted(name for name in os.environ if name[0] == 'T'))"],
    "a script": ["script.py", "x"],
    "a module": ["-m", "module", "x"],
    "a module that is not there": ["-m", "nowhere"],
    "an exit code": ["-c", "raise SystemExit(7)"],
    "a large exit code": ["-c", "import sys; sys.exit(258)"],
    "an exit with a text": ["-c", "import sys; sys.exit('that is why')"],
    "an exit at once": ["-c", "import os; print('lost'); os._exit(3)"],
    "an error": ["script.py", "broken"],
    "a kill": ["-c", "import os; os.kill(os.getpid(), 9)"],
    "an interruption": ["-c", "import os, signal; os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(9)"],
    "a warning that is an error": ["-W", "error", "-c", "import warnings; warnings.warn('no')"],
    "a deprecation that is an error": [
        "-W",
        "error",
        "-c",
        "import warnings\ndef old(): warnings.warn('no', DeprecationWarning)\nold()",
    ],
    "warnings that are ignored": ["-W", "ignore", "-c", "import warnings; warnings.warn('no')"],
    "threads that outlive the main one": [
        "-c",
        "import threading, time; threading.Thread(target=lambda: (time.sleep(0.05), print('late'))).start()",
    ],
    "functions at exit": ["-c", "import atexit; atexit.register(print, 'bye'); print('hello')"],
    "what is cleaned up at the end": ["-c", "class A:\n def __del__(self): print('gone')\na = A()"],
    "random numbers": ["-c", "import random, uuid; print(len({random.random(), random.random(), uuid.uuid4()}))"],
}
SCRIPT = (
    "import sys\ndef inner():\n    raise ValueError(sys.argv)\nprint(__file__)\nif 'broken' in sys.argv:\n    inner()\n"
)


def test_whatever_is_run_does_the_same(tmp_path: Path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "module.py").write_text("import sys\nprint(__file__, sys.argv, __spec__.name, sys.path[0])\n")
    given: dict[str, Any] = {"cwd": tmp_path, "input": "given\n", "capture_output": True, "text": True}
    given["env"] = {"PATH": os.environ["PATH"], "TIDE": "high", "PYTHONWARNINGS": "default"}
    differs: dict[str, Any] = {}
    for name, arguments in PROGRAMS.items():
        command = [sys.executable, *arguments]
        ran: list[subprocess.CompletedProcess[str]] = [
            subprocess.run(command, **given, check=False),
            processes.run(command, **given),
            subprocess.run(processes.command(*arguments), **given, check=False),
        ]
        expected, *found = [(done.returncode, done.stdout, done.stderr) for done in ran]
        if strange := [one for one in found if one != expected]:
            differs[name] = expected, strange[0]
    differs.pop("an interruption", None) if _only_lines_differ(differs) else None
    assert differs == {}


def _only_lines_differ(differs: dict[str, Any]) -> bool:
    """An interruption comes at one of several lines."""
    expected, got = differs.get("an interruption", ((0, "", ""), (1, "", "")))
    return expected[:2] == got[:2] and got[2].endswith("KeyboardInterrupt\n")


def test_a_process_is_stopped_as_any_other():
    for number in (signal.SIGTERM, signal.SIGKILL):
        with processes.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
            assert process.poll() is None
            process.send_signal(number)
            assert process.wait(60) == -number == process.poll()


def test_what_takes_too_long_is_killed():
    with pytest.raises(subprocess.TimeoutExpired):
        processes.run([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.2)


def test_a_failure_is_raised_where_it_is_to_be():
    with pytest.raises(subprocess.CalledProcessError):
        processes.run([sys.executable, "-c", "raise SystemExit(1)"], check=True)


def test_two_processes_are_two():
    found = {
        processes.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True).stdout for _ in "ab"
    }
    assert len(found) == 2


def test_a_process_ends_with_whoever_it_was_launched_for():
    command = processes.command("-c", "import os, time; print(os.getpid(), flush=True); time.sleep(60)")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as launched:
        assert launched.stdout is not None
        pid = int(launched.stdout.readline())
        launched.kill()
    wait_until(lambda: not is_running(pid))


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
