#!/usr/bin/env python
import sys
from old_crew.crew import OldCrew


def run():
    inputs = {'coast': 'Brest'}
    result = OldCrew().crew().kickoff(inputs=inputs)
    print(result.final_output)


def train():
    OldCrew().crew().train(n_iterations=int(sys.argv[1]), filename=sys.argv[2], inputs={})


def replay():
    try:
        OldCrew().crew().replay(task_id=sys.argv[1])
    except Exception as e:
        raise Exception(f"An error occurred while replaying the crew: {e}")


if __name__ == "__main__":
    run()
