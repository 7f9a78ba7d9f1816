"""Paths of scopes: `/team/research`, the root is `/`."""

import re

__all__ = ["join_scope_paths", "normalize_scope_path", "parent_path", "parts_of", "sanitize_scope_name"]


def normalize_scope_path(path: str | None) -> str:
    """A path as it is kept: one slash at its beginning and between its parts, none at its end."""
    return "/" + "/".join(parts_of(path))


def join_scope_paths(root: str | None, inner: str | None) -> str:
    """A path that is read from another one on."""
    return "/" + "/".join((*parts_of(root), *parts_of(inner)))


def sanitize_scope_name(name: str) -> str:
    """A name as one part of a path: small letters, digits, `_`, and `-` for all else; "unknown" where nothing is left."""
    return re.sub(r"-{2,}", "-", re.sub(r"[^a-z0-9_-]", "-", name.lower())).strip("-") or "unknown"


def parts_of(path: str | None) -> tuple[str, ...]:
    """The parts of a path."""
    return tuple(part for part in (path or "").split("/") if part)


def parent_path(path: str) -> str:
    """The path that a path stands below; the root stands below itself."""
    return "/" + "/".join(parts_of(path)[:-1])
