#!/usr/bin/env python
import json
import sys
import warnings

from trip_planner.crew import TripPlanner

warnings.filterwarnings("ignore", category=SyntaxWarning, module="pysbd")


def run():
    inputs = {"city": "Brest", "travelers": 2, "interests": ["sea", "forts"], "budget": 500.0, "current_year": "2025"}
    try:
        result = TripPlanner().crew().kickoff(inputs=inputs)
    except Exception as error:
        raise RuntimeError(f"the crew failed: {error}") from error
    print(result.raw)
    print([t.name for t in result.tasks_output])
    print(result.tasks_output[1].pydantic.total_cost)
    print(result.tasks_output[1].pydantic.days[0].places)
    print(json.loads(result.tasks_output[1].pydantic.model_dump_json())["days"][0]["day"])
    print(result["total_cost"] if result.pydantic else "no pydantic")
    print(result.token_usage.successful_requests)
    return result


def train():
    TripPlanner().crew().train(n_iterations=int(sys.argv[1]), filename=sys.argv[2], inputs={})


def run_with_trigger():
    payload = json.loads('{"city": "Nantes", "from": "mail"}')
    inputs = {
        "crewai_trigger_payload": payload,
        "city": payload["city"],
        "travelers": 1,
        "interests": "",
        "budget": 1,
        "current_year": "",
    }
    result = TripPlanner().crew().kickoff(inputs=inputs)
    print(result)
