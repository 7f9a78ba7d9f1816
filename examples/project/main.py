"""Runs the project beside it: `python examples/project/main.py`.

With OPENAI_API_KEY a real model does the work; without, a scripted one.
"""

from crew import Shop


def main() -> None:
    """Kick it off."""
    result = Shop().crew().kickoff(inputs={"product": "lamp", "customer": "Ada"})
    print(result.raw)


if __name__ == "__main__":
    main()
