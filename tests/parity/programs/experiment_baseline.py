"""The results of an experiment are compared with those before."""

import json
from pathlib import Path

from crewai.experimental.evaluation import ExperimentResult, ExperimentResults
from crewai.experimental.evaluation.testing import assert_experiment_no_regression


def results(**passed):
    cases = [
        ExperimentResult(identifier=name, inputs={"x": name}, score=7, expected_score={"goal_alignment": 5}, passed=one)
        for name, one in passed.items()
    ]
    return ExperimentResults(cases, metadata={"of": "ports"})


first = results(a=True, b=False, c=True)
for case in first.to_json()["results"]:
    print([case[key] for key in ("identifier", "inputs", "score", "expected_score", "passed")])
print(first.metadata, first.compare_with_baseline("base.json")["is_baseline"])
second = results(a=False, b=True, d=True)
found = second.compare_with_baseline("base.json")
print(found["baseline_timestamp"] == first.timestamp.isoformat(), found["total_compared"])
for key in ("improved", "regressed", "unchanged", "new_tests", "missing_tests"):
    print(key, found[key])
print(len(json.loads(Path("base.json").read_text())))
try:
    assert_experiment_no_regression(found)
except AssertionError as error:
    print("regressed", "a" in str(error))

script = {}
