"""The prompts of an agent, for programs that look at them."""

from typing import Any

from pydantic import BaseModel, Field

from crewgraph.definitions.placeholders import render_template, split_at_slot
from crewgraph.prompts.i18n import I18N, I18N_DEFAULT


class StandardPromptResult(BaseModel):
    """A prompt in a single text; it can also be read like a dict."""

    prompt: str = Field(default="", description="The whole prompt")
    """The whole prompt, with the placeholder `{input}`, and `{tools}` and `{tool_names}` if there are tools."""

    def __getitem__(self, key: str) -> Any:
        if key not in type(self).model_fields:
            raise KeyError(key)
        return getattr(self, key)

    def __contains__(self, key: object) -> bool:
        return key in type(self).model_fields

    def get(self, key: str, default: Any = None) -> Any:
        """Return a part, or the default."""
        return getattr(self, key) if key in self else default


class SystemPromptResult(StandardPromptResult):
    """A prompt in two messages."""

    system: str = Field(default="", description="The system message")
    """The system message."""

    user: str = Field(default="", description="The user's message")
    """The user message, with the placeholder `{input}`."""


class Prompts(BaseModel):
    """Build an agent's prompts from crewgraph's texts, leaving the placeholders of the task open.

    Runs make their own; `Crew(prompt_file=)` replaces the texts of both.
    """

    i18n: I18N = Field(default_factory=lambda: I18N_DEFAULT, exclude=True)
    """The prompt texts."""

    has_tools: bool = False
    """Whether there are tools."""

    use_native_tool_calling: bool = False
    """Whether tools are offered through the model's native protocol."""

    system_template: str | None = None
    """The template around the system text, `{{ .System }}`; used with `prompt_template`."""

    prompt_template: str | None = None
    """The template around the user text, `{{ .Prompt }}`."""

    response_template: str | None = None
    """The response template; the part before `{{ .Response }}` ends the prompt."""

    use_system_prompt: bool | None = False
    """Whether the prompt has two messages."""

    agent: Any
    """The agent whose role, goal and backstory are used."""

    skill_loader_tool_name: str | None = None
    """The tool that loads skills; runs offer it automatically."""

    def task_execution(self) -> SystemPromptResult | StandardPromptResult:
        """Return the prompt for a task."""
        if self.system_template and self.prompt_template:
            return StandardPromptResult(prompt=self._in_templates(self.system_template, self.prompt_template))
        full = f"{self._system_text}\n\n{self._user_text}"
        if self.use_system_prompt:
            return SystemPromptResult(system=self._system_text, user=self._user_text, prompt=full)
        return StandardPromptResult(prompt=full)

    @property
    def _texts(self) -> dict[str, str]:
        return {field: str(getattr(self.agent, field, "")) for field in ("role", "goal", "backstory")}

    @property
    def _system_text(self) -> str:
        book = self.i18n.book
        tools = "no_tools" if not self.has_tools else "native_tools" if self.use_native_tool_calling else "tools"
        return f"{book.slice('role_playing', **self._texts)}\n\n{book.slice(tools)}"

    @property
    def _user_text(self) -> str:
        return self.i18n.book.slice("task")

    def _in_templates(self, system: str, prompt: str) -> str:
        prompt_text = render_template(system, "System", self._system_text, self._texts)
        full = f"{prompt_text}\n{render_template(prompt, 'Prompt', self._user_text, self._texts)}"
        if not self.response_template:
            return full
        return f"{full}\n{split_at_slot(self.response_template, 'Response')[0]}"
