"""The form of a program: by ruff where it is installed; and what of the user's own code linters would say."""

import json
import re
import subprocess
import sys
from importlib.util import find_spec

__all__ = ["formed"]

_RULES = "E,F,I,B,UP,D,C90,PLR0915,PLC0415,BLE001,S110,T201,SIM,RET,RUF022,RUF100,PGH003,ANN"
"""The rules that a program keeps to."""

_LEFT_OUT = "D100,D102,D104,D105,D107,D203,D213,D214,ANN401"
_OPTIONS = (
    *("--isolated", "--target-version", "py311", "--config", "line-length=120"),
    *("--config", "lint.pycodestyle.max-line-length=130", "--config", 'lint.pydocstyle.convention="google"'),
)
_CHECK = (*_OPTIONS, "--config", "lint.mccabe.max-complexity=10", "--select", _RULES, "--ignore", _LEFT_OUT)


def formed(text: str, *, is_users: bool) -> str:
    """A program in its form; as it is where ruff is not installed.

    Args:
        text: the program.
        is_users: whether it holds code of the user's, which may not keep to the rules: those are then named at its top.
    """
    if find_spec("ruff") is None:
        return re.sub(r"\n{4,}", "\n\n\n", text)
    text = _ruff(text, "check", "--fix-only", "--select", "I,F401", *_OPTIONS)
    # A value that is handed on to nobody is left without a name.
    text = _ruff(text, "check", "--fix-only", "--unsafe-fixes", "--select", "F841", *_OPTIONS)
    text = _ruff(text, "format", *_OPTIONS)
    broken = _broken(text) if is_users else []
    if broken:
        lines = [f"# ruff: noqa: {', '.join(broken)}"]
        if any(rule.startswith("ANN") for rule in broken):
            lines.append("# pyright: basic")
        text = _below_docstring(text, "\n".join(lines))
    return text


def _ruff(text: str, verb: str, *options: str) -> str:
    done = _run(text, verb, *options)
    return done.stdout if done.returncode in (0, 1) and done.stdout else text


def _broken(text: str) -> list[str]:
    """The rules that it does not keep to."""
    done = _run(text, "check", "--output-format", "json", *_CHECK)
    found = json.loads(done.stdout or "[]")
    return sorted({one["code"] for one in found if one.get("code")})


def _run(text: str, verb: str, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "ruff", verb, *options, "--no-cache", "--stdin-filename", "ejected.py", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)


def _below_docstring(text: str, lines: str) -> str:
    end = text.index('"""', 3) + 3
    return f"{text[:end]}\n\n{lines}{text[end:]}"
