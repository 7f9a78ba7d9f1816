"""Cards: what remote agents say of themselves, and where they are spoken to."""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from crewgraph.errors import RemoteAgentError

__all__ = ["card_addresses", "checked_card", "is_same_host", "rpc_address", "shown_address", "streams"]

_CARDS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
"""Where cards are, today and in older versions of the protocol."""

_KEPT = ("name", "description", "url", "version", "protocolVersion", "preferredTransport", "provider", "skills")
_KEPT_LISTS = ("additionalInterfaces", "capabilities", "security", "securitySchemes", "defaultInputModes")


def shown_address(address: str) -> str:
    """An address without what may be secret."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def card_addresses(endpoint: str) -> list[str]:
    """Where the card of an endpoint may be: at that very address, or where it usually is below it."""
    parts = urlsplit(endpoint)
    if "/.well-known/" in parts.path or parts.path.endswith(".json"):
        return [endpoint]
    base = parts.path.rstrip("/")
    return [urlunsplit(parts._replace(path=base + path)) for path in _CARDS]


def is_same_host(one: str, other: str) -> bool:
    """Whether two addresses are of one host; all names of this machine are."""
    first, second = (urlsplit(address).hostname or "" for address in (one, other))
    return first == second or (_is_near(first) and _is_near(second))


def _is_near(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback or ip_address(host).is_unspecified
    except ValueError:
        return False


def checked_card(told: Any, endpoint: str) -> dict[str, Any]:
    """The card that a server gave, without what is of no use here.

    Raises:
        RemoteAgentError: it is none, or leads to another host, or names no JSON-RPC.
    """
    where = f"the remote agent at `{shown_address(endpoint)}`"
    if not isinstance(told, Mapping) or not isinstance(cast("Mapping[str, Any]", told).get("name"), str):
        raise RemoteAgentError(f"{where} gave no card: a JSON object with its name. Look at the address.")
    given = cast("Mapping[str, Any]", told)
    card = {name: given[name] for name in (*_KEPT, *_KEPT_LISTS) if name in given}
    rpc_address(card, endpoint)
    return card


def rpc_address(card: Mapping[str, Any], endpoint: str) -> str:
    """Where a remote agent answers JSON-RPC.

    Raises:
        RemoteAgentError: nowhere, or on another host than its card is on.
    """
    where = f"the remote agent at `{shown_address(endpoint)}`"
    faces = cast("list[Mapping[str, Any]]", card.get("additionalInterfaces") or [])
    offered = [(str(card.get("preferredTransport") or "JSONRPC"), str(card.get("url") or ""))]
    offered += [(str(face.get("transport")), str(face.get("url") or "")) for face in faces]
    found = next((url for transport, url in offered if transport == "JSONRPC" and url), None)
    if found is None:
        told = (
            ", ".join(sorted({transport for transport, url in offered if url})) or "nothing of the versions 0.2 and 0.3"
        )
        raise RemoteAgentError(f"{where} answers no JSON-RPC; its card offers {told}.")
    if urlsplit(found).scheme not in ("http", "https"):
        raise RemoteAgentError(f"{where} says that it answers at {found!r:.80}, which is no address with http(s)://.")
    if not is_same_host(found, endpoint):
        raise RemoteAgentError(
            f"{where} says that it answers at `{shown_address(found)}`, on another host: that is not followed. If it is "
            "right, give the address of the card on that host as `endpoint`."
        )
    return found


def streams(card: Mapping[str, Any]) -> bool:
    """Whether a remote agent can be listened to while it works."""
    return bool(cast("Mapping[str, Any]", card.get("capabilities") or {}).get("streaming"))
