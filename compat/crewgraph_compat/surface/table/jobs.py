"""Jobs in the background of a session."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_RECORDS = "crewgraph_compat.stand_ins.jobs"

MODULES: dict[str, dict[str, str]] = {
    "crewai.experimental.flow_jobs": {
        **rows(
            _RECORDS,
            "JobRecord",
            "JobState",
            "JobStatus",
            "JobUpdate",
            "JobUpdateKind",
            "JobWorkState",
            "UpdatePublisher",
            "add_job",
            "commit_job_update",
        ),
        **rows(_RECORDS, **{"JobWorkState[Any]": "JobWorkStateOfAny"}),
        **rows("crewgraph_compat.stand_ins.jobs", "JobRunner", "JobWorkFlow"),
    },
}
"""The modules of this area."""
