"""The imports of a CrewAI program, and nothing else."""

import json
import time

from crewai import Agent, Crew, Task

assert Agent.__module__.startswith("crewgraph") and Crew and Task
print(json.dumps({"cpu": 1000 * time.process_time()}))
