"""A flow as the documentation's examples have it: leads scored by a crew for each, a person's turn, mails by another crew."""

import asyncio
import csv
import io
from typing import Dict, List, Optional

from crewai import Agent, Crew, Process, Task
from crewai.flow.flow import Flow, listen, or_, router, start
from pydantic import BaseModel, Field

CSV = "name,years\nAda,9\nBob,1\nCyd,4\n"


class Candidate(BaseModel):
    id: str = ""
    name: str
    years: int = 0


class Score(BaseModel):
    name: str
    score: int
    reason: Optional[str] = None


class LeadState(BaseModel):
    candidates: List[Candidate] = []
    scores: List[Score] = []
    ranked: List[Dict] = []
    feedback: str = ""
    rounds: int = 0
    meta: Dict[str, Dict[str, int]] = Field(default_factory=dict)


class ScoreCrew:
    def crew(self):
        agent = Agent(role="HR", goal="Score", backstory="Scores.")
        task = Task(
            description="Score {name} with {years} years SCORE-1 {additional_instructions}",
            expected_output="a score",
            agent=agent,
            output_pydantic=Score,
        )
        return Crew(agents=[agent], tasks=[task], process=Process.sequential)


class MailCrew:
    def crew(self):
        agent = Agent(role="Mailer", goal="Mail", backstory="Mails.")
        task = Task(description="Mail to {name}, go on: {proceed} MAIL-1", expected_output="a mail", agent=agent)
        return Crew(agents=[agent], tasks=[task])


class LeadFlow(Flow[LeadState]):
    @start()
    def load_leads(self):
        for row in csv.DictReader(io.StringIO(CSV)):
            self.state.candidates.append(Candidate(id=row["name"].lower(), **row))
        self.state.meta["n"] = {"count": len(self.state.candidates)}

    @listen(or_(load_leads, "score_again"))
    async def score_leads(self):
        async def one(c):
            out = (
                await ScoreCrew()
                .crew()
                .kickoff_async(
                    inputs={"name": c.name, "years": c.years, "additional_instructions": self.state.feedback}
                )
            )
            self.state.scores.append(out.pydantic)

        self.state.scores = []
        await asyncio.gather(*[one(c) for c in self.state.candidates])
        self.state.rounds += 1
        print("scored", sorted((s.name, s.score) for s in self.state.scores))

    @router(score_leads)
    def human_in_the_loop(self):
        top = sorted(self.state.scores, key=lambda s: (-s.score, s.name))[:2]
        print("top", [s.name for s in top])
        if self.state.rounds < 2:
            self.state.feedback = "be stricter AGAIN-1"
            return "score_again"
        return "send"

    @listen("send")
    async def mail(self):
        ranked = sorted(self.state.scores, key=lambda s: (-s.score, s.name))
        self.state.ranked = [s.model_dump() for s in ranked]
        outs = await asyncio.gather(
            *[MailCrew().crew().kickoff_async(inputs={"name": s.name, "proceed": i < 1}) for i, s in enumerate(ranked)]
        )
        mails = {}
        for s, out in zip(ranked, outs, strict=True):
            with open(f"{s.name}.txt", "w") as f:
                f.write(out.raw)
            mails[s.name] = out.raw
        return mails


flow = LeadFlow()
result = flow.kickoff()
print(sorted(result))
print(flow.state.rounds, flow.state.meta, len(flow.state.scores), flow.state.ranked[0]["name"])
print(len(flow.state.id), isinstance(flow.state, LeadState), sorted(flow.state.model_dump()["meta"]))

parallel = True
script = {
    "MAIL-1": ["LETTER-1"],
    "Ada": [{"json": {"name": "Ada", "score": 90}}],
    "Bob": [{"json": {"name": "Bob", "score": 20, "reason": "new"}}],
    "Cyd": [{"json": {"name": "Cyd", "score": 50}}],
}
