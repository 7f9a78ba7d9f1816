"""Headless Chromium, controlled through two pipes."""

import base64
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Browser", "Page", "missing", "running_browser"]

_NAMES = ("chromium", "chromium-browser", "google-chrome")


def _program() -> str | None:
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


def missing() -> str | None:
    """The reason why no browser can be run here; empty if one can."""
    return None if _program() else "Chromium is not installed (Debian: apt-get install chromium)"


class Browser:
    """A running browser."""

    def __init__(self, requests: int, answers: int) -> None:
        self._requests, self._answers = requests, answers
        self._numbers = itertools.count(1)
        self._rest = b""
        self.events: list[dict[str, Any]] = []
        """The events it has sent."""

    def ask(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """A request of the DevTools protocol, and its answer."""
        number = next(self._numbers)
        request: dict[str, Any] = {"id": number, "method": method, "params": params}
        if session is not None:
            request["sessionId"] = session
        os.write(self._requests, json.dumps(request).encode() + b"\0")
        while (reported := self._next()).get("id") != number:
            self.events.append(reported)
        assert "error" not in reported, reported
        return reported["result"]

    def open(self, path: Path, width: int = 1400, height: int = 800, scheme: str = "light") -> "Page":
        """A page of a file, shown in a colour scheme, "light" or "dark"."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        page = Page(self, self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
        page.ask("Network.enable")
        page.ask("Runtime.enable")
        page.ask("Log.enable")
        page.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        page.ask("Emulation.setEmulatedMedia", features=features)
        page.ask("Page.enable")
        page.ask("Page.navigate", url=path.absolute().as_uri())
        page.until("Page.loadEventFired")
        return page

    def reported(self, session: str, method: str) -> list[dict[str, Any]]:
        """Return the events of a page with a name."""
        return [one["params"] for one in self.events if one.get("sessionId") == session and one["method"] == method]

    def wait(self) -> None:
        """Wait for an event."""
        self.events.append(self._next())

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._answers, 1 << 16)
            assert more, "the browser has ended"
            self._rest += more
        reported, _, self._rest = self._rest.partition(b"\0")
        return json.loads(reported)


class Page:
    """A page in a browser."""

    def __init__(self, browser: Browser, session: str) -> None:
        self.browser, self.session = browser, session

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """A request of the DevTools protocol to this page."""
        return self.browser.ask(method, self.session, **params)

    def until(self, event: str) -> None:
        """Wait for an event of this page."""
        while not self.browser.reported(self.session, event):
            self.browser.wait()

    def value(self, expression: str) -> Any:
        """Evaluate a JavaScript expression."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def middle(self, selector: str) -> tuple[float, float]:
        """Return the position of the center of an element."""
        script = f"(b => [b.x + b.width / 2, b.y + b.height / 2])(document.querySelector({selector!r}).getBoundingClientRect())"
        x, y = self.value(script)
        return x, y

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """Send a mouse event: "Pressed", "Released", "Moved" or "Wheel"."""
        self.ask("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        """Click."""
        self.mouse("Moved", x, y)
        self.mouse("Pressed", x, y, button="left", clickCount=1)
        self.mouse("Released", x, y, button="left", clickCount=1)

    def drag(self, begin: tuple[float, float], by: tuple[float, float]) -> None:
        """Drag."""
        self.mouse("Moved", *begin)
        self.mouse("Pressed", *begin, button="left", clickCount=1)
        for part in (0.5, 1.0):
            self.mouse("Moved", begin[0] + by[0] * part, begin[1] + by[1] * part, button="left", buttons=1)
        self.mouse("Released", begin[0] + by[0], begin[1] + by[1], button="left", clickCount=1)

    def key(self, key: str, text: str = "") -> None:
        """Press a key."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, windowsVirtualKeyCode=codes.get(key, 0))
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=codes.get(key, 0))

    def screenshot(self) -> bytes:
        """Return a screenshot as PNG."""
        return base64.b64decode(self.ask("Page.captureScreenshot")["data"])

    def complaints(self) -> list[dict[str, Any]]:
        """Return exceptions and console messages."""
        names = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [one for name in names for one in self.browser.reported(self.session, name)]

    def addresses(self) -> list[str]:
        """Return the requested URLs."""
        return [one["request"]["url"] for one in self.browser.reported(self.session, "Network.requestWillBeSent")]


@contextmanager
def running_browser() -> Generator[Browser]:
    """Start a browser, and close it at the end."""
    program = _program()
    assert program is not None
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    options = "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --no-first-run"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = f'exec "$0" {options} --user-data-dir="$1" --remote-debugging-pipe 3<&{theirs_in} 4>&{theirs_out}'
        process = subprocess.Popen(
            ["bash", "-c", command, program, folder],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            yield Browser(ours_out, ours_in)
        finally:
            os.close(ours_out)
            os.close(ours_in)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
