"""A tool that hands work to a coworker, whose work is then a part of the work of whoever uses the tool."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from crewgraph.compiler.agent.event_tool import EventTool
from crewgraph.compiler.agent.toolbox import ToolOutcome
from crewgraph.core.effects import Body, Call, EffectFailed, Mark, Notify, Scope
from crewgraph.core.messages import ToolSpec
from crewgraph.definitions.agent.agent import BaseAgent
from crewgraph.definitions.agent.delegation_tools import CoworkerTool, find_coworker, normalize_coworker
from crewgraph.errors import OutputInvalid, TimeLimitReached
from crewgraph.llm.errors import ContextLengthExceeded
from crewgraph.prompts.book import Book
from crewgraph.text import extract_json
from crewgraph.tools.arguments import Refusal
from crewgraph.tools.failure import ToolFailure, ToolFailureReason
from crewgraph.tools.use import Outcome as Done

__all__ = ["Delegation", "DelegationTeam", "hook"]


_SHOWN = (ContextLengthExceeded, OutputInvalid, TimeLimitReached)
"""Failures of a coworker that whoever asked can do something about; all others end the run, which a resume goes on with."""


@dataclass(kw_only=True)
class DelegationTeam:
    """The coworkers of an agent at work on a task."""

    work: Callable[[BaseAgent, str, str], Body[str]]
    """The work of a coworker: on what, told what."""

    role: Callable[[BaseAgent], str]
    """What a coworker is called in this run."""

    book: Book
    most: int
    """How often work may be handed over."""

    tell: Callable[[str], None]
    """Is told the role of whoever gets the work."""

    handed: int = field(default=0)
    """How often that was done."""


@dataclass(frozen=True)
class Delegation(EventTool):
    """A `CoworkerTool` in the hands of an agent at work on a task."""

    team: DelegationTeam
    source: CoworkerTool

    @property
    def spec(self) -> ToolSpec:
        """How a model sees it, in the run's wording and with the coworkers as they are called in it."""
        if self.source.description != self.source.described(
            agent.template("role") or "" for agent in self.source.agents
        ):
            return super().spec  # somebody has described it himself
        return {**super().spec, "description": self.source.described(self._roles, self.team.book)}

    def prepare(self, written: dict[str, Any] | str) -> dict[str, Any] | Refusal:
        """The arguments that a model wrote, or what is wrong with them."""
        read = extract_json(written) if isinstance(written, str) else written
        return super().prepare(normalize_coworker(cast("dict[str, Any]", read)) if isinstance(read, dict) else written)

    def effect(self, args: dict[str, Any]) -> Scope:
        """The coworker's work."""
        self.team.handed += 1
        allowed = self.team.handed <= self.team.most
        begin = Mark(
            stage="tools", shown={"what": f"a call of the tool `{self.name}`", "tool": self.name, "args": args}
        )
        body = partial(self._body, begin, args, allowed)
        return Scope(name=self.source.name, body=body, given=args, stage=begin.stage, shown=begin.shown)

    @property
    def _roles(self) -> Sequence[str]:
        return [self.team.role(agent) for agent in self.source.agents]

    def _body(self, begin: Mark, args: dict[str, Any], allowed: bool) -> Body[ToolOutcome]:
        yield begin
        started, hooks = (yield Notify(partial(self.starting, args))), self.hooks
        if not hooks:
            done = yield from self._done(args, allowed)
            return self.ended(args, (yield Notify(partial(self.finished, args, started, done))))
        ready = self.checked((yield hook("before_tool_call", hooks.before, hooks.abefore, args)))
        args = ready["args"]
        done = self.stopped(ready) or (yield from self._done(args, allowed))
        outcome = self.outcome_of(done)
        outcome = yield hook("after_tool_call", hooks.after, hooks.aafter, args, outcome, done["result"])
        return self.ended(args, (yield Notify(partial(self.finished, args, started, done, outcome))))

    def _done(self, args: dict[str, Any], allowed: bool) -> Body[Done]:
        book, roles = self.team.book, self._roles
        if not allowed:
            return _failed(book.error("too_many_delegations", most=str(self.team.most)), ToolFailureReason.USAGE_LIMIT)
        at = find_coworker(args["coworker"], roles)
        if at is None:
            listed = "\n".join(f"- {role}" for role in roles)
            unknown = book.error("agent_tool_unexisting_coworker", coworkers=listed)
            return _failed(unknown, ToolFailureReason.INVALID_INPUT)
        wanted, context = self.source.request_of(args)
        yield Notify(partial(self.team.tell, roles[at]))
        try:
            return {"ok": True, "result": (yield from self.team.work(self.source.agents[at], wanted, context))}
        except _SHOWN as failure:
            error = f"{type(failure).__name__}: {failure}"
        except EffectFailed as failure:
            if not isinstance(failure.__cause__, _SHOWN):
                raise
            error = str(failure)
        told = book.error("agent_tool_execution_error", agent_role=roles[at], error=error)
        return _failed(told, ToolFailureReason.EXCEPTION)


def _failed(text: str, reason: ToolFailureReason) -> Done:
    return Done(ok=False, result=text, failure=ToolFailure(message=text, reason=reason).model_dump(mode="json"))


def hook(name: str, function: Callable[..., Any], afunction: Callable[..., Any], *args: Any) -> Call:
    """Hooks around a tool, as an effect of their own."""
    return Call(function=function, afunction=afunction, args=args, name=name, about=list(args), kind="hook", aside=True)
