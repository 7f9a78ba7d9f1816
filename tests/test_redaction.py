"""Secrets, recognized by name or by shape, and their replacement."""

import copy
import json
import time
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from crewgraph.redaction import (
    REDACTED,
    SecretRedactor,
    UnshownText,
    is_secret_name,
    redact,
    redact_text,
    redacted_logger,
)
from crewgraph.tools.mcp.server import MCPServerHTTP

SECRET_NAMES = (
    "api_key", "apiKey", "APIKey", "X-Api-Key", "x-goog-api-key", "OPENAI_API_KEY", "aws_secret_access_key",
    "private_key", "secret", "client_secret", "clientSecret", "password", "passwd", "db_password", "passphrase",
    "credentials", "vertex_credentials", "token", "access_token", "accessToken", "access_tokens", "Authorization",
    "Proxy-Authorization", "auth", "cookie", "Set-Cookie", "session_token", "connection_string", "dsn",
)  # fmt: skip
OTHER_NAMES = (
    "key", "task_key", "crew_key", "primary_key", "keywords", "tokens", "max_tokens", "prompt_tokens", "token_usage",
    "total_tokens", "author", "authority", "secretary", "tokenizer", "password_hint", "environment_name", "headers",
    "url", "name", "description",
)  # fmt: skip


def test_names_tell_secrets():
    assert [name for name in SECRET_NAMES if not is_secret_name(name)] == []
    assert [name for name in OTHER_NAMES if is_secret_name(name)] == []


SHAPES = {
    "Authorization: Bearer abc123def456": "Authorization: Bearer ***",
    "Basic dXNlcjpwYXNz": "Basic ***",
    "the key sk-proj-abc123def456.": "the key ***.",
    "sk-ant-api03-abcdefgh": "***",
    "AKIAIOSFODNN7EXAMPLE": "***",
    "ghp_0123456789abcdefghij": "***",
    "xoxb-1234567890-abc": "***",
    "AIzaSyA0123456789abcdefghijk": "***",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl": "***",
    "postgresql://me:pa55@db.example/runs": "postgresql://me:***@db.example/runs",
    "https://me:p@55@host.example/x": "https://me:***@host.example/x",
    "https://t0ken@host.example/x": "https://***@host.example/x",
    "https://host.example/x?a=1&api_key=abc&b=2#end": "https://host.example/x?a=1&api_key=***&b=2#end",
    "host=db password=hunter22 user=me": "host=db password=*** user=me",
    "AccountName=a;AccountKey=abcdefgh==;E=x": "AccountName=a;AccountKey=***;E=x",
    "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\nend": "***\nend",
}
NO_SECRETS = (
    "a plain text", "the bearer of news", "Bearer certificates", "basic information", "Basic Introduction to x",
    "sk-learn-documentation",
    "https://host.example/a@b?page=2", "ssh://git@host.example/x", "mailto:me@host.example", "api_key={api_key}", "token=$TOKEN",
    "token=5", "x == y", "max_tokens=100000", "a-b_c", "", "task-key", "tel:+49-30",
)  # fmt: skip


def test_shapes_tell_secrets():
    assert {text: redact_text(text) for text in SHAPES} == SHAPES
    assert [text for text in NO_SECRETS if redact_text(text) != text] == []


LONG = (
    "a.", "a_", "sk-", "sk-a", "eyJaaaaaaaa.", "http://a:", "http://a", "bearer ", "basic a", "k=", "-", "?a_key=",
    "-----BEGIN PRIVATE KEY-----",
    "password=", "://", "xoxb-", "a:",
)  # fmt: skip


def test_long_texts_take_no_time():
    texts = [form * (60_000 // len(form)) + "://=-" for form in LONG]
    before = time.process_time()
    for text in texts:
        redact_text(text)
    assert time.process_time() - before < 5


def test_data_keeps_its_form():
    data: dict[Any, Any] = {
        "headers": {"Accept": "text", "n": 1},
        "env": {"PATH": "/bin"},
        "config": {"api_key": "k", "model": "m", "password": None, "token": ""},
        "credentials": {"user": ["a", {"b": "c"}]},
        "args": ["--token", "abc", "--verbose", "--api-key=abc", "x"],
        "sealed": SecretStr("x"),
        "pair": ("https://a:b@c", 1),
        3: "three",
    }
    assert redact(data) == {
        "headers": {"Accept": REDACTED, "n": 1},
        "env": {"PATH": REDACTED},
        "config": {"api_key": REDACTED, "model": "m", "password": None, "token": ""},
        "credentials": {"user": [REDACTED, {"b": REDACTED}]},
        "args": ["--token", REDACTED, "--verbose", "--api-key=***", "x"],
        "sealed": REDACTED,
        "pair": ("https://a:***@c", 1),
        3: "three",
    }
    data["itself"] = data
    assert "..." in repr(redact(data))


def test_texts_lose_the_values_of_the_environment():
    redactor = SecretRedactor({"DESK_PASSWORD": "open sesame", "HOME": "/home/me", "API_KEY": "short"})
    assert redactor.redact("open sesame in /home/me, short sk-abc12345678") == "*** in /home/me, short ***"


def test_an_object_is_made_again_of_its_dump_and_neither_shows_a_secret():
    server = MCPServerHTTP(url="https://me:pa55@host.example/x", headers={"X-Any": "w0rd"})
    dumped = server.model_dump()
    assert MCPServerHTTP(**dumped) == server
    assert (dumped["headers"]["X-Any"], dumped["url"]) == ("w0rd", "https://me:pa55@host.example/x")
    for again in (dumped, copy.deepcopy(dumped)):
        assert again == dumped and isinstance(again["url"], UnshownText)
        assert "w0rd" not in repr(again) and "pa55" not in repr(again)
    assert not isinstance(MCPServerHTTP(**dumped).url, UnshownText)
    stored = json.loads(server.model_dump_json(exclude={"tool_filter"}))
    assert stored == server.model_dump(mode="json")
    assert (stored["headers"], stored["url"]) == ({"X-Any": REDACTED}, "https://me:***@host.example/x")
    assert "pa55" not in repr(server) and "w0rd" not in str(server)


@pytest.mark.parametrize(
    "options", [{"indent": 2}, {"exclude": {"url"}}, {"by_alias": True}, {"exclude_none": True}], ids=str
)
def test_json_is_written_as_pydantic_writes_it(options: dict[str, Any]):
    server = MCPServerHTTP(url="https://host.example/é")
    assert server.model_dump_json(**options) == BaseModel.model_dump_json(server, **options)


def test_messages_of_our_loggers_have_no_secrets(caplog: pytest.LogCaptureFixture):
    log = redacted_logger("crewgraph.desk")
    try:
        raise ConnectionError("no answer from https://me:pa55@host.example")
    except ConnectionError as error:
        log.exception("desk %s: %s", 3, error)
    log.warning("desk is %s", "open")
    assert "pa55" not in caplog.text
    assert "desk 3: no answer from https://me:***@host.example" in caplog.text
    assert "ConnectionError: no answer" in caplog.text and "desk is open" in caplog.text
