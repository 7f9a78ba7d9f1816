"""What CrewAI's hosted platform gives a run that goes on after a person has answered, for type checkers."""

from typing import TypedDict

__all__ = ["CrewInputsWithHITL", "HITLResumeInfo"]


class HITLResumeInfo(TypedDict, total=False):
    """The task that a person answered, and the answer; crewgraph's way is `crew.resume(thread_id, answer)`."""

    task_id: str
    crew_execution_id: str
    task_key: str
    task_output: str
    human_feedback: str
    previous_messages: list[dict[str, str]]


class CrewInputsWithHITL(TypedDict, total=False):
    """Inputs with that beside them."""

    _hitl_resume: HITLResumeInfo
