"""The tools that delegate work to a coworker, whose run becomes part of the calling agent's run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from crewgraph.compiler.agent.event_tool import EventTool
from crewgraph.compiler.agent.toolbox import ToolOutcome
from crewgraph.core.effects import Body, Call, EffectFailed, Notify, Scope, StepMark
from crewgraph.core.messages import ToolSpec
from crewgraph.core.operations import Program, driven
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.errors import OutputInvalid, TimeLimitReached
from crewgraph.llm.errors import ContextLengthExceeded
from crewgraph.prompts.i18n import Book
from crewgraph.schema import PlainDict
from crewgraph.text import extract_json
from crewgraph.tools.arguments import Refusal
from crewgraph.tools.failure import ToolFailure, ToolFailureReason
from crewgraph.tools.use import Outcome as Done

if TYPE_CHECKING:
    from crewgraph.definitions.agent.delegation_tools import CoworkerTool


_RECOVERABLE = (ContextLengthExceeded, OutputInvalid, TimeLimitReached)
"""Failures of a coworker that the delegating agent can react to; all others end the run, to be resumed later."""


@dataclass(kw_only=True)
class DelegationTeam:
    """The coworkers that an agent may delegate to during a task."""

    run_coworker: Callable[[BaseAgentDefinition, str, str], Body[str]]
    """Runs a coworker on a request, with a context."""

    role_of: Callable[[BaseAgentDefinition], str]
    """Returns the role of a coworker, rendered for this run."""

    book: Book
    max_delegations: int
    """How often work may be delegated."""

    on_delegated: Callable[[str], None]
    """Called with the role of the coworker that gets the work."""

    count: int = field(default=0)
    """How often work was delegated."""


@dataclass(frozen=True)
class Delegation(EventTool):
    """A `CoworkerTool` whose calls run the coworker inside the task."""

    team: DelegationTeam
    source: "CoworkerTool"

    @property
    def spec(self) -> ToolSpec:
        """The spec for models, in the language of the run and with the roles rendered for it."""
        if self.source.description != self.source.described(
            agent.template("role") or "" for agent in self.source.agents
        ):
            return super().spec  # the user's own description
        return {**super().spec, "description": self.source.described(self._roles, self.team.book)}

    def prepare(self, raw_args: dict[str, object] | str) -> dict[str, object] | Refusal:
        """Return the validated arguments, or what is wrong with them."""
        parsed = extract_json(raw_args) if isinstance(raw_args, str) else raw_args
        from crewgraph.definitions.agent.delegation_tools import normalize_coworker

        return super().prepare(normalize_coworker(cast("PlainDict", parsed)) if isinstance(parsed, dict) else raw_args)

    def effect(self, args: PlainDict) -> Scope:
        """Return the effect of running the coworker."""
        self.team.count += 1
        allowed = self.team.count <= self.team.max_delegations
        begin = StepMark(
            stage="tools", shown={"what": f"a call of the tool `{self.name}`", "tool": self.name, "args": args}
        )
        body = partial(self._body, begin, args, allowed)
        return Scope(name=self.source.name, body=body, trace_input=args, stage=begin.stage, shown=begin.shown)

    @property
    def _roles(self) -> Sequence[str]:
        return [self.team.role_of(agent) for agent in self.source.agents]

    def _body(self, begin: StepMark, args: PlainDict, allowed: bool) -> Body[ToolOutcome]:
        yield begin
        return self.raise_if_fatal(args, (yield from used(self, args, partial(self._delegate, allowed))))

    def _delegate(self, allowed: bool, args: PlainDict) -> Body[Done]:
        book, roles = self.team.book, self._roles
        if not allowed:
            return _failed(
                book.error("too_many_delegations", most=str(self.team.max_delegations)), ToolFailureReason.USAGE_LIMIT
            )
        from crewgraph.definitions.agent.delegation_tools import find_coworker

        position = find_coworker(args["coworker"], roles)
        if position is None:
            listed = "\n".join(f"- {role}" for role in roles)
            unknown = book.error("agent_tool_unexisting_coworker", coworkers=listed)
            return _failed(unknown, ToolFailureReason.INVALID_INPUT)
        request, context = self.source.request_of(args)
        yield Notify(partial(self.team.on_delegated, roles[position]))
        try:
            return {
                "ok": True,
                "result": (yield from self.team.run_coworker(self.source.agents[position], request, context)),
            }
        except _RECOVERABLE as failure:
            error = f"{type(failure).__name__}: {failure}"
        except EffectFailed as failure:
            if not isinstance(failure.__cause__, _RECOVERABLE):
                raise
            error = str(failure)
        message = book.error("agent_tool_execution_error", agent_role=roles[position], error=error)
        return _failed(message, ToolFailureReason.EXCEPTION)


def _failed(text: str, reason: ToolFailureReason) -> Done:
    return Done(ok=False, result=text, failure=ToolFailure(message=text, reason=reason).model_dump(mode="json"))


def used(tool: EventTool, args: PlainDict, work: Callable[[PlainDict], Body[Done]]) -> Body[ToolOutcome]:
    """Do a tool's work as part of the run, between its hooks and events."""
    checked = tool.checked
    if not tool.is_hooked and checked is None:
        started = yield Notify(partial(tool.report_start, args))
        result = yield from work(args)
        return (yield Notify(partial(tool.report_end, args, started, result)))
    if checked is None:
        checked = tool.revalidate(args, (yield _hook("before_tool_call", tool.run_before_hooks, tool.resolved(args))))
    args = checked["given"]
    started = yield Notify(partial(tool.report_start, args))
    result = tool.blocked_result(checked) or (yield from work(args))
    with tool.reporting_denial(args):
        about = checked["args"], tool.outcome_of(result), result["result"]
        outcome = yield _hook("after_tool_call", tool.run_after_hooks, *about)
    return (yield Notify(partial(tool.report_end, args, started, result, outcome)))


def _hook(name: str, program: Callable[..., Program[object]], *args: Any) -> Call:
    return Call(**driven(program), args=args, name=name, about=list(args), kind="hook", aside=True)
