"""The imports of a crewgraph program, and nothing else."""

import json
import time

from crewgraph import Agent, Crew, Task

assert Agent and Crew and Task
print(json.dumps({"cpu": 1000 * time.process_time()}))
