"""One LangChain run of type llm around a model that is no LangChain model, for whoever listens."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from crewgraph.core.messages import Message, Reply, ToolSpec, Usage
from crewgraph.extras import load
from crewgraph.llm.conversation import openai_messages, openai_tool, text_of

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ["Listened"]


class Listened:
    """A run of LangChain's callbacks: started, shown piece by piece, and ended by the answer or an error.

    Args:
        name: the model's name.
        provider: who serves it, by the name that prices are looked up under.
        asked: the conversation and the tools.
        config: the caller's.
    """

    def __init__(
        self,
        name: str,
        provider: str,
        asked: tuple[Sequence[Message], Sequence[ToolSpec]],
        config: "RunnableConfig",
    ) -> None:
        self._name, self._provider = name, provider
        self._messages, self._tools = asked
        self._config = config
        self._run: Any = None

    def start(self) -> "RunnableConfig":
        """Open the run; returns the config for what runs below it."""
        managers = load("langchain_core.callbacks")
        manager = managers.CallbackManager.configure(
            inheritable_callbacks=self._config.get("callbacks"),
            inheritable_tags=self._config.get("tags"),
            inheritable_metadata=self._config.get("metadata"),
            local_metadata={"ls_provider": self._provider, "ls_model_name": self._name, "ls_model_type": "chat"},
        )
        given = load("langchain_core.messages").convert_to_messages(openai_messages(self._messages))
        parameters: dict[str, Any] = {"model": self._name}
        if self._tools:
            parameters["tools"] = [openai_tool(tool) for tool in self._tools]
        self._run = manager.on_chat_model_start(
            {"name": self._name, "id": ["crewgraph", "llm", self._name]},
            [given],
            name=self._name,
            invocation_params=parameters,
        )[0]
        below = managers.CallbackManager(handlers=[], parent_run_id=self._run.run_id)
        below.set_handlers(self._run.inheritable_handlers)
        below.add_tags(self._run.inheritable_tags)
        below.add_metadata(self._run.inheritable_metadata)
        return {**self._config, "callbacks": below}

    def text(self, piece: str) -> None:
        """Pass a piece of the answer on."""
        message = load("langchain_core.messages").AIMessageChunk(piece, id=self._message_id)
        chunk = load("langchain_core.outputs").ChatGenerationChunk(message=message)
        self._run.on_llm_new_token(piece, chunk=chunk)

    def end(self, reply: Reply) -> None:
        """Pass the answer on."""
        outputs = load("langchain_core.outputs")
        message = load("langchain_core.messages").AIMessage(
            reply["content"],
            id=self._message_id,
            tool_calls=[call for call in reply["tool_calls"] if isinstance(call["args"], dict)],
            usage_metadata=reply["usage"] and _counted(reply["usage"]),
        )
        generation = outputs.ChatGeneration(message=message, text=text_of(reply["content"]))
        self._run.on_llm_end(outputs.LLMResult(generations=[[generation]]))

    def fail(self, error: BaseException) -> None:
        """Pass an error on."""
        self._run.on_llm_error(error)

    @property
    def _message_id(self) -> str:
        return f"run-{self._run.run_id}"


def _counted(usage: Usage) -> dict[str, Any]:
    """Tokens in LangChain's words."""
    return {
        "input_tokens": usage["prompt_tokens"],
        "output_tokens": usage["completion_tokens"],
        "total_tokens": usage["total_tokens"],
        "input_token_details": {
            "cache_read": usage["cached_prompt_tokens"],
            "cache_creation": usage["cache_creation_tokens"],
        },
        "output_token_details": {"reasoning": usage["reasoning_tokens"]},
    }
