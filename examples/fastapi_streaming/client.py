"""Reads the stream of a server: `python client.py [FILE] [PORT]`."""

import json
import sys
import urllib.request
from pathlib import Path


def main() -> None:
    """Send the notes, and print the tokens as they come."""
    notes = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "incident.txt").read_text("utf-8")
    port = sys.argv[2] if len(sys.argv) > 2 else "8000"
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/updates",
        data=json.dumps({"notes": notes}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        for line in response:
            field, _, value = line.decode().partition(": ")
            if field != "data":
                continue
            item = json.loads(value)
            match item.get("kind"):
                case "task_started":
                    print(f"[{item['task']}: {item['agent']}]")
                case "token":
                    print(item["text"], end="", flush=True)
                case "task_finished":
                    print("\n")
                case "finished":
                    print(f"done, {item['output']['token_usage']['total_tokens']} tokens")
                case _:
                    pass


if __name__ == "__main__":
    main()
