"""A2UI 0.8 in conversations with remote agents."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, cast

from crewgraph_compat.stand_ins.a2ui.messages import (
    A2UIResponse,
    A2UIValidationError,
    extract_a2ui_json_objects,
    validate_a2ui_message,
)

__all__ = [
    "A2UI_EXTENSION_URI",
    "A2UI_MIME_TYPE",
    "A2UI_STANDARD_CATALOG_ID",
    "A2UIClientExtension",
    "A2UIConversationState",
    "A2UIServerExtension",
    "ExtensionContext",
    "ServerExtension",
]

A2UI_EXTENSION_URI = "https://a2ui.org/a2a-extension/a2ui/v0.8"
A2UI_MIME_TYPE = "application/json+a2ui"
A2UI_STANDARD_CATALOG_ID = "https://a2ui.org/specification/v0_8/standard_catalog_definition.json"

_MESSAGE_KEYS = (
    "Surfaces are shown for messages of A2UI 0.8 in an answer: JSON objects with `beginRendering` (surfaceId, root), "
    "`surfaceUpdate` (surfaceId, components: id and component), `dataModelUpdate` (surfaceId, contents) or `deleteSurface` "
    "(surfaceId). Catalog: {catalog}. Components: {components}."
)


_STANDARD_COMPONENTS = (
    *("AudioPlayer", "Button", "Card", "CheckBox", "Column", "DateTimeInput", "Divider", "Icon", "Image", "List"),
    *("Modal", "MultipleChoice", "Row", "Slider", "Tabs", "Text", "TextField", "Video"),
)


def _of_version(version: str) -> Literal["v0.8"]:
    if version != "v0.8":
        raise ValueError(f"A2UI is supported in version v0.8, not {version!r}")
    return "v0.8"


@dataclass
class A2UIConversationState:
    """The A2UI surfaces of a conversation."""

    active_surfaces: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """The last `beginRendering` message of each surface."""

    data_models: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])
    """The data model of each surface."""

    last_a2ui_messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The messages of the most recent response that had any."""

    initialized_surfaces: set[str] = field(default_factory=set[str])
    """The ids of the visible surfaces."""

    def is_ready(self) -> bool:
        """Return whether there are any surfaces."""
        return bool(self.active_surfaces)

    def take(self, message: Mapping[str, Any]) -> None:
        """Update the state with a message."""
        begun, deleted = message.get("beginRendering"), message.get("deleteSurface")
        update, data = message.get("surfaceUpdate"), message.get("dataModelUpdate")
        if begun:
            self.active_surfaces[begun["surfaceId"]] = dict(begun)
            self.initialized_surfaces.add(begun["surfaceId"])
        if update:
            self.active_surfaces.setdefault(update["surfaceId"], {})
        if data:
            self.data_models.setdefault(data["surfaceId"], []).extend(data["contents"])
        if deleted:
            self.active_surfaces.pop(deleted["surfaceId"], None)
            self.data_models.pop(deleted["surfaceId"], None)
            self.initialized_surfaces.discard(deleted["surfaceId"])


class A2UIClientExtension:
    """Let an agent and a remote agent exchange surfaces.

    Args:
        catalog_id: the component catalog; None selects the standard one.
        allowed_components: the permitted components; None permits all.
        version: the A2UI version.

    Raises:
        ValueError: The version is not v0.8.
    """

    def __init__(
        self, catalog_id: str | None = None, allowed_components: list[str] | None = None, version: str = "v0.8"
    ) -> None:
        self._version = _of_version(version)
        self._catalog_id = catalog_id or A2UI_STANDARD_CATALOG_ID
        self._allowed = allowed_components

    def inject_tools(self, agent: Any) -> None:
        """Do nothing: surfaces need no tools."""

    def extract_state_from_history(self, conversation_history: Sequence[Any]) -> A2UIConversationState | None:
        """Return the surfaces created by the messages, or None if there are none."""
        state, result = A2UIConversationState(), False
        for message in conversation_history:
            messages = _messages(message)
            for item in messages:
                state.take(item)
            if messages:
                state.last_a2ui_messages, result = messages, True
        return state if result else None

    def augment_prompt(self, base_prompt: str, _conversation_state: A2UIConversationState | None) -> str:
        """Return the prompt with instructions for showing surfaces."""
        known = _STANDARD_COMPONENTS if self._allowed is None else self._allowed
        return f"{base_prompt}\n\n{_MESSAGE_KEYS.format(catalog=self._catalog_id, components=', '.join(known))}"

    def process_response(self, agent_response: Any, conversation_state: A2UIConversationState | None) -> Any:
        """Return the response, wrapped in an `A2UIResponse` if it contains well-formed messages."""
        text = agent_response if isinstance(agent_response, str) else ""
        messages = [item for item in extract_a2ui_json_objects(text) if self._is_allowed(item)]
        if not messages:
            return agent_response
        parts = [{"kind": "data", "data": message, "metadata": {"mimeType": A2UI_MIME_TYPE}} for message in messages]
        return A2UIResponse(text=text, a2ui_parts=parts, a2ui_messages=messages)

    def _is_allowed(self, message: dict[str, Any]) -> bool:
        try:
            read = validate_a2ui_message(message)
        except A2UIValidationError:
            return False
        if self._allowed is None or read.surface_update is None:
            return True
        return all(kind in self._allowed for entry in read.surface_update.components for kind in entry.component)

    def prepare_message_metadata(self, _conversation_state: A2UIConversationState | None) -> dict[str, Any]:
        """Return message metadata that lists the supported catalogs."""
        return {"a2uiClientCapabilities": {"supportedCatalogIds": [self._catalog_id]}}


def _messages(message: Any) -> list[dict[str, Any]]:
    """Return the well-formed A2UI messages in the parts of a message (a dict or an a2a-sdk object)."""
    dump = getattr(message, "model_dump", None)
    dumped: Any = dump(mode="json", by_alias=True) if callable(dump) else message
    results: list[dict[str, Any]] = []
    for part in cast("Mapping[str, Any]", dumped).get("parts") or () if isinstance(dumped, Mapping) else ():
        data = part.get("data")
        if not isinstance(data, dict):
            continue
        try:
            validate_a2ui_message(cast("dict[str, Any]", data))
        except A2UIValidationError:
            continue
        results.append(cast("dict[str, Any]", data))
    return results


@dataclass
class ExtensionContext:
    """A request as seen by server extensions."""

    metadata: dict[str, Any]
    """The metadata of the request."""

    client_extensions: set[str]
    """The extensions that the client requested."""

    state: dict[str, Any] = field(default_factory=dict[str, Any])
    """State shared between extensions."""

    server_context: Any = None
    """The server's own context."""

    def get_extension_metadata(self, uri: str, key: str) -> Any | None:
        """Return a metadata value that the request carries for an extension."""
        own = self.metadata.get(uri)
        return cast("Mapping[str, Any]", own).get(key) if isinstance(own, Mapping) else None

    def set_extension_metadata(self, uri: str, key: str, value: Any) -> None:
        """Set a metadata value for an extension."""
        self.metadata.setdefault(uri, {})[key] = value


class ServerExtension(ABC):
    """Base class of extensions that can change the responses of a server."""

    uri: ClassVar[str]
    """The unique URI of the extension."""

    required: ClassVar[bool] = False
    """Whether clients must support it."""

    description: ClassVar[str | None] = None
    """A description of the extension."""

    @property
    def params(self) -> dict[str, Any] | None:
        """The parameters shown in the agent card."""
        return None

    def agent_extension(self) -> dict[str, Any]:
        """Return the extension as it appears in an agent card (JSON)."""
        values = {"uri": self.uri, "required": self.required, "description": self.description, "params": self.params}
        return {name: value for name, value in values.items() if value is not None}

    def is_active(self, context: ExtensionContext) -> bool:
        """Return whether the client requested the extension."""
        return self.uri in context.client_extensions

    @abstractmethod
    async def on_request(self, context: ExtensionContext) -> None:
        """Handle a request before it is processed."""

    @abstractmethod
    async def on_response(self, context: ExtensionContext, result: Any) -> Any:
        """Return the response, possibly changed."""


class A2UIServerExtension(ServerExtension):
    """Let a server show surfaces.

    Args:
        catalog_ids: the supported component catalogs.
        accept_inline_catalogs: whether requests may define their own.
        version: the A2UI version.

    Raises:
        ValueError: The version is not v0.8.
    """

    uri: ClassVar[str] = A2UI_EXTENSION_URI
    description: ClassVar[str | None] = "Surfaces described by A2UI"

    def __init__(
        self, catalog_ids: list[str] | None = None, accept_inline_catalogs: bool = False, version: str = "v0.8"
    ) -> None:
        self._version = _of_version(version)
        self._catalog_ids, self._accept_inline_catalogs = list(catalog_ids or ()), accept_inline_catalogs

    @property
    def params(self) -> dict[str, Any] | None:
        values: dict[str, Any] = {"supportedCatalogIds": self._catalog_ids} if self._catalog_ids else {}
        return {**values, "acceptsInlineCatalogs": True} if self._accept_inline_catalogs else values or None

    async def on_request(self, context: ExtensionContext) -> None:
        """Record the catalogs that the client supports."""
        capabilities: Any = context.metadata.get("a2uiClientCapabilities")
        if self.is_active(context) and isinstance(capabilities, Mapping):
            context.state["a2ui_catalogs"] = list(
                cast("Mapping[str, Any]", capabilities).get("supportedCatalogIds") or ()
            )

    async def on_response(self, context: ExtensionContext, result: Any) -> Any:
        """Return the response, wrapped in an `A2UIResponse` if the client requested A2UI and it contains messages."""
        if not (self.is_active(context) and isinstance(result, str)):
            return result
        return A2UIClientExtension().process_response(result, None)
