"""A crew whose runs are kept in PostgreSQL."""

import os
import sys

from crewai import Agent, Crew, Task
from langgraph.checkpoint.postgres import PostgresSaver

sys.path.append(f"{os.environ['CHECKOUT']}/tests")
from servers.postgres import missing, running_postgres

if why := missing():
    print(f"not run: {why}")
    sys.exit()
with running_postgres() as server, PostgresSaver.from_conn_string(server.dsn) as saver:
    saver.setup()
    pilot = Agent(role="Pilot", goal="Know the tides", backstory="At sea.", llm="gpt-4o-mini")
    look = Task(description="The tide", expected_output="A time", agent=pilot)
    print(Crew(agents=[pilot], tasks=[look], checkpointer=saver).kickoff())
    assert list(saver.list(None))
