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

_TOLD = (
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
        raise ValueError(f"A2UI is known here in version v0.8, not {version!r}")
    return "v0.8"


@dataclass
class A2UIConversationState:
    """The surfaces of a conversation."""

    active_surfaces: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """The last `beginRendering` of each, by surface."""

    data_models: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])
    """The data of each."""

    last_a2ui_messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The messages of the last answer that had some."""

    initialized_surfaces: set[str] = field(default_factory=set[str])
    """Surfaces that are shown."""

    def is_ready(self) -> bool:
        """Whether there are surfaces."""
        return bool(self.active_surfaces)

    def take(self, message: Mapping[str, Any]) -> None:
        """One message more."""
        begun, gone = message.get("beginRendering"), message.get("deleteSurface")
        update, data = message.get("surfaceUpdate"), message.get("dataModelUpdate")
        if begun:
            self.active_surfaces[begun["surfaceId"]] = dict(begun)
            self.initialized_surfaces.add(begun["surfaceId"])
        if update:
            self.active_surfaces.setdefault(update["surfaceId"], {})
        if data:
            self.data_models.setdefault(data["surfaceId"], []).extend(data["contents"])
        if gone:
            self.active_surfaces.pop(gone["surfaceId"], None)
            self.data_models.pop(gone["surfaceId"], None)
            self.initialized_surfaces.discard(gone["surfaceId"])


class A2UIClientExtension:
    """Lets an agent and a remote one show surfaces.

    Args:
        catalog_id: the catalog of components; the standard one where None.
        allowed_components: those that may be used; all where None.
        version: of A2UI.

    Raises:
        ValueError: another version than v0.8.
    """

    def __init__(
        self, catalog_id: str | None = None, allowed_components: list[str] | None = None, version: str = "v0.8"
    ) -> None:
        self._version = _of_version(version)
        self._catalog_id = catalog_id or A2UI_STANDARD_CATALOG_ID
        self._allowed = allowed_components

    def inject_tools(self, agent: Any) -> None:
        """Nothing: surfaces need no tools."""

    def extract_state_from_history(self, conversation_history: Sequence[Any]) -> A2UIConversationState | None:
        """The surfaces that messages brought; None where there are none."""
        state, result = A2UIConversationState(), False
        for message in conversation_history:
            said = _messages(message)
            for item in said:
                state.take(item)
            if said:
                state.last_a2ui_messages, result = said, True
        return state if result else None

    def augment_prompt(self, base_prompt: str, _conversation_state: A2UIConversationState | None) -> str:
        """What a model is told, with how surfaces are shown."""
        known = _STANDARD_COMPONENTS if self._allowed is None else self._allowed
        return f"{base_prompt}\n\n{_TOLD.format(catalog=self._catalog_id, components=', '.join(known))}"

    def process_response(self, agent_response: Any, conversation_state: A2UIConversationState | None) -> Any:
        """An answer; as an `A2UIResponse` where well-formed messages stand in it."""
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
        """What a message says of the catalogs that are understood."""
        return {"a2uiClientCapabilities": {"supportedCatalogIds": [self._catalog_id]}}


def _messages(message: Any) -> list[dict[str, Any]]:
    """The well-formed A2UI messages in the parts of a message, which is a dict or an object of a2a-sdk."""
    dump = getattr(message, "model_dump", None)
    told: Any = dump(mode="json", by_alias=True) if callable(dump) else message
    results: list[dict[str, Any]] = []
    for part in cast("Mapping[str, Any]", told).get("parts") or () if isinstance(told, Mapping) else ():
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
    """A request, as extensions of a server see it."""

    metadata: dict[str, Any]
    """What the request carries along."""

    client_extensions: set[str]
    """The extensions that the client asks for."""

    state: dict[str, Any] = field(default_factory=dict[str, Any])
    """What extensions note."""

    server_context: Any = None
    """The server's own view."""

    def get_extension_metadata(self, uri: str, key: str) -> Any | None:
        """What the request carries along for an extension."""
        own = self.metadata.get(uri)
        return cast("Mapping[str, Any]", own).get(key) if isinstance(own, Mapping) else None

    def set_extension_metadata(self, uri: str, key: str, value: Any) -> None:
        """Let it carry something along for an extension."""
        self.metadata.setdefault(uri, {})[key] = value


class ServerExtension(ABC):
    """What has a say in the answers of a server of yours."""

    uri: ClassVar[str]
    """Its address, which no other has."""

    required: ClassVar[bool] = False
    """Whether clients must ask for it."""

    description: ClassVar[str | None] = None
    """What it is for."""

    @property
    def params(self) -> dict[str, Any] | None:
        """What the card says of its settings."""
        return None

    def agent_extension(self) -> dict[str, Any]:
        """What the card says of it, as the protocol writes it in JSON."""
        values = {"uri": self.uri, "required": self.required, "description": self.description, "params": self.params}
        return {name: value for name, value in values.items() if value is not None}

    def is_active(self, context: ExtensionContext) -> bool:
        """Whether the client asks for it."""
        return self.uri in context.client_extensions

    @abstractmethod
    async def on_request(self, context: ExtensionContext) -> None:
        """Look at a request."""

    @abstractmethod
    async def on_response(self, context: ExtensionContext, result: Any) -> Any:
        """Look at an answer, and give it or another."""


class A2UIServerExtension(ServerExtension):
    """Lets a server of yours show surfaces.

    Args:
        catalog_ids: the catalogs of components that are understood.
        accept_inline_catalogs: whether requests may bring their own.
        version: of A2UI.

    Raises:
        ValueError: another version than v0.8.
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
        """Note which catalogs the client understands."""
        told: Any = context.metadata.get("a2uiClientCapabilities")
        if self.is_active(context) and isinstance(told, Mapping):
            context.state["a2ui_catalogs"] = list(cast("Mapping[str, Any]", told).get("supportedCatalogIds") or ())

    async def on_response(self, context: ExtensionContext, result: Any) -> Any:
        """The answer; as an `A2UIResponse` where well-formed messages stand in it and the client asks for them."""
        if not (self.is_active(context) and isinstance(result, str)):
            return result
        return A2UIClientExtension().process_response(result, None)
