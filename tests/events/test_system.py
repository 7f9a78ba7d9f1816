"""Signals as events."""

import sys

import processes

PROGRAM = """
import os, signal, sys
from crewgraph.events.system import on_signal
@on_signal
def told(source, event):
    print(event.type, int(event.signal_number), flush=True)
os.kill(os.getpid(), signal.SIGCONT)
try:
    os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted", flush=True)
os.kill(os.getpid(), signal.SIGTERM)
print("not reached")
"""


def test_a_signal_is_reported_and_then_does_what_it_did():
    ran = processes.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=250)
    assert ran.stdout.splitlines() == ["SIGCONT 18", "SIGINT 2", "interrupted", "SIGTERM 15"]
    assert ran.returncode == -15
