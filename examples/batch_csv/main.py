"""Scores the leads of a CSV file: `python main.py [FILE]` writes FILE-scored.csv.

`kickoff_for_each` runs the crew once for each row, four at a time. A row that fails costs no other, and is tried once more.
With MODEL or OPENAI_API_KEY set, that model does the work; otherwise a scripted stand-in does.
"""

import csv
import os
import sys
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field
from stand_in import reply

from crewgraph import LLM, Agent, BaseLLM, Crew, CrewOutput, ScriptedLLM, Task


class Score(BaseModel):
    """What becomes of a lead."""

    score: int = Field(ge=0, le=100, description="how likely they buy within six months")
    queue: Literal["sales", "self-service", "support", "spam"]
    next_step: str


def crew_for(llm: BaseLLM) -> Crew:
    """One agent and one task; the columns of the file are its placeholders."""
    desk = Agent(
        role="Sales development representative",
        goal="Get every lead to the right desk",
        backstory="You have read ten thousand messages. You score intent and fit, not politeness.",
        llm=llm,
        max_retry_limit=0,  # a row that fails is tried again when the others are done
    )
    score = Task(
        name="score",
        description="Score lead {id}: {company}, {country}, {employees} employees. They write: {message}",
        expected_output="Score, queue and next step",
        agent=desk,
        output_pydantic=Score,
    )
    return Crew(name="leads", agents=[desk], tasks=[score], max_tokens=20_000)


def score_all(crew: Crew, rows: list[dict[str, str]]) -> dict[int, CrewOutput]:
    """The outputs by position; rows that fail are left out."""
    try:
        return dict(enumerate(crew.kickoff_for_each(rows, max_concurrency=4)))
    except Exception as error:
        failures: dict[int, Exception] = getattr(error, "failures", {})
        outputs: list[CrewOutput | None] = getattr(error, "outputs", [])
        if not failures:
            raise  # nothing was run
        for position, failure in failures.items():
            print(f"{rows[position]['id']} failed: {failure}")
        return {position: output for position, output in enumerate(outputs) if output is not None}


def model() -> BaseLLM:
    """A real model if one is configured."""
    if os.environ.get("MODEL") or os.environ.get("OPENAI_API_KEY"):
        return LLM(os.environ.get("MODEL") or "openai/gpt-4o-mini")
    return ScriptedLLM(reply)


def main() -> None:
    """Score the rows, those that failed a second time, and write what came of them."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "leads.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    crew = crew_for(model())
    done = score_all(crew, rows)
    if missing := [position for position in range(len(rows)) if position not in done]:
        print(f"trying {len(missing)} of {len(rows)} again")
        again = score_all(crew, [rows[position] for position in missing])
        done |= {missing[position]: output for position, output in again.items()}

    scored: list[dict[str, Any]] = []
    for position in sorted(done):
        score = Score.model_validate(done[position].pydantic)
        scored.append({**rows[position], **score.model_dump()})
    target = path.with_name(f"{path.stem}-scored.csv")
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], *Score.model_fields])
        writer.writeheader()
        writer.writerows(scored)

    for one in sorted(scored, key=lambda one: -one["score"]):
        print(f"{one['score']:>3}  {one['queue']:<12}  {one['id']}  {one['company'] or '-':<20}  {one['next_step']}")
    tokens = sum(output.token_usage.total_tokens for output in done.values())
    print(f"{len(scored)} of {len(rows)} leads in {target.name}, {tokens} tokens")


if __name__ == "__main__":
    main()
