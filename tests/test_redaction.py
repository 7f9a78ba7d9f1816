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
    secret_variables,
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
    "UID=me;PWD=hunter22;E=x": "UID=me;PWD=***;E=x",
    "secret=/yB3dEfGhIjKlMnOpQr/sTuVwXyZ01": "secret=***",
    "AccountName=a;AccountKey=abcdefgh==;E=x": "AccountName=a;AccountKey=***;E=x",
    "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\nend": "***\nend",
}
NO_SECRETS = (
    "a plain text", "the bearer of news", "Bearer certificates", "basic information", "Basic Introduction to x",
    "sk-learn-documentation",
    "https://host.example/a@b?page=2", "ssh://git@host.example/x", "mailto:me@host.example", "api_key={api_key}", "token=$TOKEN",
    "PWD=/w0rk/x", "cd $PWD; OLDPWD=/home/me PWD=/home/me/project make", "password=/run/secrets/desk", "x token=~/token",
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


PLAIN_VALUES = (
    "/home/me/project", "/", "/Volumes/Data 2/x", "/mnt/c/Users/me", "~/.config/desk", "./secrets/desk", "C:\\Users\\me",
    "\\\\server\\share", "$HOME/key", "/run/secrets/desk", "/.dockerenv", "/data1/x", "secrets/desk.json", "desk-key.pem",
    "postgres", "required", "DISABLED", "Anonymous", "lm-studio", "not-needed", "NOT_REQUIRED", "no-key-required",
    "12345678", "2026-01-01", "1700000000.5", "127.0.0.1:8080", "https://login.example/oauth/token", "short", "",
    "unix:///run/desk", "postgresql://localhost/desk",
)  # fmt: skip
SECRET_VALUES = (
    "hunter22", "Tr0ub4dor", "open sesame", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "/yB3dEfGhIjKlMnOpQr/sTuVwXyZ01",
    "sk-proj-abc123def456", "0123456789abcdef", "correct-horse-battery-staple", "AbCdEfGhIjKl",
    "12345678-1234-1234-1234-123456789012",
    "postgresql://me:pa55@db.example/runs", "https://t0ken@sentry.example/1",
)  # fmt: skip


def test_paths_words_numbers_and_addresses_are_no_secrets_whatever_their_variable_is_called():
    for name in ("DESK_TOKEN", "DESK_API_KEY", "PGPASSWORD", "DESK_PWD", "AUTH", "SENTRY_DSN"):
        assert dict(secret_variables({name + str(n): value for n, value in enumerate(PLAIN_VALUES)})) == {}
        assert [value for value in PLAIN_VALUES if dict(secret_variables({name: value}))] == []
        assert [value for value in SECRET_VALUES if not dict(secret_variables({name: value}))] == []


ORDINARY = {
    "PWD": "/w0rk-1/s p/x", "OLDPWD": "/home/me", "SSH_AUTH_SOCK": "/tmp/ssh-XYZ123/agent.99", "SSH_ASKPASS": "/usr/bin/askpass",
    "SSH_CONNECTION": "10.0.0.1 50000 10.0.0.2 22", "SSH_CLIENT": "10.0.0.1 50000 22", "SSH_TTY": "/dev/pts/0",
    "SSH_AGENT_PID": "12345678", "GIT_ASKPASS": "/usr/share/code/askpass.sh", "GPG_TTY": "/dev/pts/0",
    "GPG_AGENT_INFO": "/run/user/1000/gnupg/S.gpg-agent:0:1", "GNOME_KEYRING_CONTROL": "/run/user/1000/keyring",
    "XAUTHORITY": "/run/user/1000/.Xauthority", "XDG_SESSION_ID": "c2345678", "XDG_SESSION_PATH": "/org/freedesktop/Session1",
    "XDG_RUNTIME_DIR": "/run/user/1000", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1000/bus,guid=0a1b2c3d4e5f",
    "LS_COLORS": "rs=0:di=01;34:ln=01;36", "SESSION_MANAGER": "local/desk:@/tmp/.ICE-unix/1234", "KEY_REPEAT": "25 millis",
    "STARSHIP_SESSION_KEY": "1234567890123456", "TERM_SESSION_ID": "w0t0p0:0A1B2C3D", "SECURITYSESSIONID": "186a7abcd",
    "CONDA_PREFIX": "/opt/conda/envs/desk", "CONDA_DEFAULT_ENV": "desk-env-1", "VIRTUAL_ENV": "/home/me/project/.venv",
    "VSCODE_GIT_ASKPASS_NODE": "/usr/share/code/code", "VSCODE_GIT_IPC_HANDLE": "/run/user/1000/vscode-git-1a2b3c4d5e.sock",
    "WSL_INTEROP": "/run/WSL/11_interop", "WSLENV": "VSCODE_WSL_EXT_LOCATION/up", "CI_JOB_STAGE": "test-linux",
    "GITHUB_WORKSPACE": "/home/runner/w/desk/desk", "GITHUB_SHA": "0123456789abcdef0123456789abcdef01234567",
    "GITHUB_ENV": "/home/runner/w/_temp/set_env_1", "GITHUB_AUTHOR": "somebody-1", "RUNNER_TRACKING_ID": "github_1a2b3c4d",
    "AWS_WEB_IDENTITY_TOKEN_FILE": "/var/run/secrets/token", "GOOGLE_APPLICATION_CREDENTIALS": "/home/me/key.json",
    "ANSIBLE_PRIVATE_KEY": "keys/desk.pem", "SUDO_COMMAND": "/usr/bin/env x", "INVOCATION_ID": "0123456789abcdef0123456789abcdef",
    "HISTFILE": "/home/me/.bash_history", "KUBERNETES_SERVICE_HOST": "10.0.0.1", "npm_config_auth": "required",
    "HYDRA_TOKEN": "disabled", "OPENAI_API_KEY": "lm-studio",
}  # fmt: skip
"""Variables of shells, desktops, sessions over ssh, editors, CI systems, conda and WSL."""


def test_no_value_of_an_ordinary_login_environment_is_a_secret():
    assert dict(secret_variables(ORDINARY)) == {}


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
