"""The server with Starlette, which comes with `crewgraph[serve]`: `python app.py`, then open http://127.0.0.1:8000."""

import sys
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from updates import events, finish

PAGE = Path(__file__).parent / "page.html"


async def page(request: Request) -> Response:
    """The form."""
    return FileResponse(PAGE)


async def stream_update(request: Request) -> Response:
    """Run the crew, and stream what happens."""
    body = await request.json()
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # proxies are not to collect the events
    return StreamingResponse(events(body["notes"]), media_type="text/event-stream", headers=headers)


async def finish_update(request: Request) -> Response:
    """Continue a run whose reader has left, and return its result."""
    return JSONResponse({"update": await finish(request.path_params["thread_id"])})


app = Starlette(
    routes=[
        Route("/", page),
        Route("/updates", stream_update, methods=["POST"]),
        Route("/updates/{thread_id}/finish", finish_update, methods=["POST"]),
    ]
)

if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]) if len(sys.argv) > 1 else 8000, log_level="warning")
