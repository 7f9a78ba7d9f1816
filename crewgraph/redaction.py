"""Redaction of secrets in data that is shown or stored: reprs, events, logs, JSON dumps and documents.

A secret is found by the name of its holder (`api_key`, `headers`, `env` ...) or by its shape (a bearer token, `sk-...`, a
password in a URL ...). A secret that has neither, such as a word in a prompt, is not found. A path, a word, a number or a URL
without credentials is no secret, whatever the environment variable is called that holds it: `PWD`, `TOKEN_AUTH=required`.
"""

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self, cast

from pydantic import BaseModel, ConfigDict, SecretBytes, SecretStr
from pydantic_core import to_json

from crewgraph.tracebacks import led_to, show_users_frames

REDACTED = "***"
"""The replacement for a secret."""

_DEEPEST = 100  # of data that contains itself
_MIN_LENGTH = 8  # a shorter value is more likely a common word than a secret

_KINDS_OF_KEYS = (
    "access|account|admin|api|auth|client|consumer|encryption|license|master|private|secret|service|shared|signing|storage"
    "|subscription"
)
_SECRET_NAME = re.compile(
    rf"(?<![a-z])((({_KINDS_OF_KEYS})_?key|secret|(pg)?passw(or)?d|passphrase|credential|cookie)s?|pwd|token|authorization|auth"
    r"|(access|api|auth|bearer|id|refresh|session)_?tokens|connection_string|dsn|jwt)$"
)
_MAPPING_OF_SECRETS = re.compile(r"(?<![a-z])(headers|env|environment|environ|cookies|default_query)$")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[-. ]")

# No base64 is a path: one that begins with a slash hardly has a word before the next, and none has a dot.
_PATH = r"(?:/(?:\.?[A-Z]?[a-z]{2,14}\d{0,2}(?:/|(?![^\s;,]))|(?=[\s;,]|\Z))|~(?:/|\Z)|\.{1,2}/|\$HOME\b|[A-Za-z]:[\\/]|\\\\\w)"
_PLAIN = re.compile(
    rf"""
    {_PATH}.*
    | [\w./-]+\.(?:cer|cfg|conf|crt|der|env|ini|json|jwk|key|p12|pem|pfx|pub|sock|toml|txt|ya?ml)  # a relative path
    | (?!(?:sk|rk|pk)[-_])(?=.{{,15}}\Z) (?: [a-z]+(?:[-_.][a-z]+)* | [A-Z]+(?:[-_.][A-Z]+)* | [A-Z][a-z]+ | [\d.,:_+-]+ )
    | [A-Za-z][A-Za-z0-9+.-]*://.*                                             # if it has no credentials
    """,
    re.VERBOSE | re.DOTALL,
)

_SHAPES = re.compile(
    rf"""
    -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    | \beyJ[\w-]{{8,}}\.[\w-]{{8,}}(?:\.[\w-]*)?                                   # JSON web token
    | \b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{12,}}\b                                 # AWS
    | \b(?:sk|rk|pk)[-_](?=[\w-]{{0,100}}\d)[\w-]{{8,}}                                  # OpenAI, Anthropic, Stripe ...
    | \b(?:gh[pousr]_|github_pat_|glpat-|hf_|gsk_|npm_|r8_|lsv2_|nvapi-|pplx-|tvly-|xai-|xox[a-z]-)[\w-]{{10,}}
    | \bAIza[\w-]{{20,}} | \bya29\.[\w-]{{10,}} | \bSG\.[\w-]{{10,}}\.[\w-]{{10,}}     # Google, SendGrid
    | (?P<before>
        (?i:\bbearer\s+)(?=[\w.~+/=-]{{0,100}}\d|[\w.~+/=-]{{24}})
        | (?i:\bbasic\s+)(?=[A-Za-z0-9+/]{{0,100}}[a-z][A-Z0-9+/=])(?=[A-Za-z0-9+/=]{{12}})
        | [?&](?i:(?:[\w.-]{{0,40}}[_.-])?(?:key|apikey|token|secret|password|pwd|sig|signature))=(?=[^&\#\s])
        | \b(?i:(?:\w{{0,40}}_)?(?:password|passwd|pwd|api_?key|secret|token|accountkey|sharedaccesskey))
          =(?=["']?[\w+/.~!@\#%^*-]{{6}})(?!["']?{_PATH}|(?<=\bPWD=)/)
      )["']?[^\s&;,\#"'<>]+
    | (?P<user>\b[A-Za-z][A-Za-z0-9+.-]{{0,30}}://[^\s/?\#@:]{{0,200}}:)[^\s/?\#]{{1,500}}(?=@)  # a password in a URL
    | (?P<scheme>\bhttps?://)[^\s/?\#:@]{{1,500}}(?=@)                                 # a token in a URL
    """,
    re.VERBOSE | re.DOTALL,
)
_HINTS = (
    "://",
    "=",
    "-",
    "_",
    "AKIA",
    "ASIA",
    "ABIA",
    "ACCA",
    "eyJ",
    "AIza",
    "ya29",
    "SG.",
    "earer",
    "EARER",
    "asic",
    "ASIC",
)


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Return whether a value of this name is a secret: `api_key`, `X-Api-Key`, `accessToken` ..., but not `max_tokens`."""
    return _SECRET_NAME.search(_words(name)) is not None


@lru_cache(maxsize=4096)
def _holds_secrets(name: str) -> bool:
    """Return whether all values of a mapping with this name count as secrets, since its keys may be any."""
    return _MAPPING_OF_SECRETS.search(_words(name)) is not None


def _words(name: str) -> str:
    return _HUMP.sub("_", name).lower()


def redact_text(text: str) -> str:
    """Return a text without the parts that have the shape of a secret."""
    if not any(hint in text for hint in _HINTS):
        return text
    return _SHAPES.sub(lambda found: "".join(part for part in found.groups() if part) + REDACTED, text)


class UnshownText(str):
    """A text that is or holds a secret, in a dump for the program: its `repr` shows none, and it is otherwise the text itself."""

    def __new__(cls, text: str, shown: str = REDACTED) -> Self:
        instance = super().__new__(cls, text)
        instance._shown = shown
        return instance

    _shown: str

    def __repr__(self) -> str:
        return repr(self._shown)


Replace = Callable[[str, str], str]
"""Returns the replacement for a text with secrets, given the text and its redacted form."""


def _shown_form(text: str, shown: str) -> str:
    return shown


def redact(value: object, name: str = "", replace: Replace = _shown_form) -> Any:
    """Return plain data without secrets; other objects are unchanged.

    Args:
        value: A text, a number, None, or mappings and sequences of these.
        name: The field or key that holds the value.
        replace: Returns the replacement for a text with secrets.
    """
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return _redact(value, name, is_secret_name(name), replace)


def _redact(value: object, name: str, is_secret: bool, replace: Replace, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        return "..."
    if isinstance(value, str):
        shown = (REDACTED if value else value) if is_secret else redact_text(value)
        return value if shown == value else replace(value, shown)
    if isinstance(value, (SecretStr, SecretBytes)):
        return REDACTED if replace is _shown_form else value
    if is_secret and isinstance(value, bytes):
        return REDACTED
    if isinstance(value, Mapping):
        are_secret = is_secret or _holds_secrets(name)
        items = [(key, str(key), item) for key, item in cast("Mapping[object, object]", value).items()]
        return {
            key: _redact(item, text, are_secret or is_secret_name(text), replace, depth + 1)
            for key, text, item in items
        }
    if isinstance(value, list) or type(value) is tuple:
        items = list(_redact_items(cast("Sequence[object]", value), name, is_secret, replace, depth + 1))
        return items if isinstance(value, list) else tuple(items)
    return value


def _redact_items(
    values: Sequence[object], name: str, is_secret: bool, replace: Replace, depth: int
) -> Iterator[object]:
    """Redact the items of a sequence, which may be the arguments of a program: `--token x` and `--token=x`."""
    follows_secret_option = False
    for value in values:
        text = value if isinstance(value, str) else ""
        option, equals, _ = text.partition("=")
        is_secret_option = option.startswith("-") and is_secret_name(option)
        if is_secret_option and equals:
            yield replace(text, f"{option}={REDACTED}")
        else:
            yield _redact(value, name, is_secret or (follows_secret_option and not is_secret_option), replace, depth)
        follows_secret_option = is_secret_option and not equals


def secret_variables(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Return the names and values of the environment variables that hold secrets, by their names and values.

    A path, a short value, a word, a number and a URL without credentials is in ordinary texts, too, and no secret.
    """
    for name, value in environment.items():
        if name != "PWD" and is_secret_name(name) and _is_telling(value):
            yield name, value


def _is_telling(value: str) -> bool:
    """Whether a value that is named like a secret would not be in ordinary texts."""
    if len(value) < _MIN_LENGTH:
        return False
    return _PLAIN.fullmatch(value) is None or ("://" in value and redact_text(value) != value)


def secrets_of(holder: object) -> set[str]:
    """Return the secrets in the attributes of an object, such as the key and the headers of a model."""
    found: set[str] = set()
    _collect(getattr(holder, "__dict__", None), False, found)
    return found


def _collect(value: object, is_secret: bool, found: set[str], depth: int = 0) -> None:
    if isinstance(value, SecretStr):
        value, is_secret = value.get_secret_value(), True
    if isinstance(value, str):
        if is_secret and _is_telling(value):
            found.add(value)
    elif isinstance(value, Mapping) and depth < _DEEPEST:
        for key, item in cast("Mapping[object, object]", value).items():
            name = str(key)
            _collect(item, is_secret or is_secret_name(name) or _holds_secrets(name), found, depth + 1)


class SecretRedactor:
    """Redacts parts of texts that have the shape of a secret, and values of environment variables that hold secrets.

    Args:
        environment: the variables; those of the process by default.
        secrets: further values to redact.
    """

    def __init__(self, environment: Mapping[str, str] | None = None, secrets: Iterable[str] = ()) -> None:
        variables = os.environ if environment is None else environment
        secrets = {*secrets, *(value for _, value in secret_variables(variables))}
        longest_first = sorted(secrets, key=len, reverse=True)
        self._secrets = re.compile("|".join(map(re.escape, longest_first))) if secrets else None

    def redact(self, text: str) -> str:
        """Return a text with the secrets replaced."""
        return redact_text(text if self._secrets is None else self._secrets.sub(REDACTED, text))

    def redact_data(self, value: object, depth: int = 0) -> Any:
        """Return plain data with the secrets in its texts replaced; other objects are unchanged."""
        if isinstance(value, str):
            return self.redact(value)
        if depth < _DEEPEST and isinstance(value, dict):
            items = cast("dict[object, object]", value).items()
            return {key: self.redact_data(item, depth + 1) for key, item in items}
        if depth < _DEEPEST and (isinstance(value, list) or type(value) is tuple):
            redacted = [self.redact_data(item, depth + 1) for item in cast("Sequence[object]", value)]
            return redacted if isinstance(value, list) else tuple(redacted)
        return value


def redact_error(error: BaseException, redactor: SecretRedactor) -> None:
    """Replace the secrets in the texts of an error, and of those that led to it, whoever shows or stores it later."""
    for one in led_to(error):
        one.args = redactor.redact_data(one.args)
        if isinstance(one, OSError):
            one.strerror = redactor.redact_data(one.strerror)
        fields: dict[str, object] = vars(one)  # with what its text is made of, and its notes
        fields.update(
            (name, shown) for name, value in fields.items() if (shown := redactor.redact_data(value)) != value
        )


class _RedactingFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        shown = redact_text(text)
        if shown != text:
            record.msg, record.args = shown, ()
        if record.exc_info and record.exc_info[1] is not None and not record.exc_text:
            kind, error, _ = record.exc_info
            show_users_frames(error)
            record.exc_info = (kind, error, error.__traceback__)
            record.exc_text = redact_text(_formatter.formatException(record.exc_info))
        return True


_formatter = logging.Formatter()
_redaction = _RedactingFilter()


def redacted_logger(name: str) -> logging.Logger:
    """Return the logger of that name, whose messages have no texts with the shape of a secret."""
    logger = logging.getLogger(name)
    logger.addFilter(_redaction)  # once, as it is the same
    return logger


class RedactedRepr(BaseModel):
    """A model whose repr shows no secrets."""

    if TYPE_CHECKING:  # the one that type checkers make of no fields takes none

        def __init__(self, **fields: Any) -> None: ...

    def __repr_args__(self) -> Iterator[tuple[str | None, object]]:
        for name, value in super().__repr_args__():
            yield name, redact(value, name or "")


class RedactedModel(RedactedRepr):
    """A model whose repr and JSON data show no secrets.

    `model_dump()` has them, as texts whose `repr` does not show them: it is for the program, which may create an equal object
    from it.
    """

    model_config = ConfigDict(defer_build=True)
    """A program uses few of the classes that it imports: pydantic builds the schema of each with its first object."""

    if TYPE_CHECKING:

        def __init__(self, **fields: Any) -> None: ...

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """Return the fields; see pydantic. With `mode="json"` secrets are redacted."""
        return redact(super().model_dump(**options), "", _shown_form if options.get("mode") == "json" else UnshownText)

    def model_dump_json(self, *, indent: int | None = None, **options: Any) -> str:
        """Return the fields as JSON, with secrets redacted; see pydantic."""
        written: dict[str, Any] = {name: options.pop(name) for name in ("ensure_ascii",) if name in options}
        return to_json(self.model_dump(mode="json", **options), indent=indent, **written).decode()
