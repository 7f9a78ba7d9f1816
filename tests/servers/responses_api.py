"""An endpoint on loopback that speaks OpenAI's Responses API: it answers with given items and records its requests."""

import json
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Responses", "message", "responses_api"]


def message(text: str) -> dict[str, Any]:
    """Return an item with a text."""
    content: list[dict[str, Any]] = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg", "role": "assistant", "status": "completed", "content": content}


class Responses:
    """The answers, and the recorded requests."""

    url: str

    def __init__(self, script: Sequence[Sequence[dict[str, Any]]]) -> None:
        self.script, self.bodies = list(script), list[dict[str, Any]]()

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        self.bodies.append(body)
        number = len(self.bodies)
        usage = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        return {
            **{"id": f"resp_{number}", "object": "response", "created_at": 1, "status": "completed"},
            **{"model": body["model"], "output": self.script[number - 1], "usage": {**usage, **details}},
            **{"parallel_tool_calls": True, "tool_choice": "auto", "tools": []},
        }


def _events(sent: dict[str, Any]) -> list[dict[str, Any]]:
    """A response in pieces: each text at once."""
    texts = [(place, one["content"][0]["text"]) for place, one in enumerate(sent["output"]) if one["type"] == "message"]
    return [
        {"type": "response.created", "response": {**sent, "output": []}},
        *(
            {
                **{"type": "response.output_text.delta", "item_id": "msg", "output_index": place, "content_index": 0},
                **{"delta": text, "logprobs": []},
            }
            for place, text in texts
        ),
        {"type": "response.completed", "response": sent},
    ]


@contextmanager
def responses_api(*script: Sequence[dict[str, Any]]) -> Generator[Responses]:
    """Serve; each answer is a list of items."""
    responses = Responses(script)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            known = self.path == "/v1/responses"
            known = known and len(responses.bodies) < len(responses.script)
            sent = responses.answer(body) if known else {"error": {"message": f"nothing to say: {self.path}"}}
            data = json.dumps(sent).encode()
            self.send_response(200 if known else 404)
            if body.get("stream"):
                data = b"".join(
                    f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': n})}\n\n".encode()
                    for n, event in enumerate(_events(sent))
                )
            self.send_header("content-type", "text/event-stream" if body.get("stream") else "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    responses.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield responses
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
