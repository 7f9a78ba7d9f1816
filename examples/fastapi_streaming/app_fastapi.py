"""The same server with FastAPI: `pip install fastapi uvicorn`, then `uvicorn app_fastapi:app`."""

# pyright: basic, reportMissingImports=false
# FastAPI is no dependency of crewgraph.

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, StreamingResponse
from pydantic import BaseModel
from updates import events, finish

app = FastAPI()


class Notes(BaseModel):
    """The body of a request."""

    notes: str


@app.get("/")
async def page() -> FileResponse:
    """The form."""
    return FileResponse(Path(__file__).parent / "page.html")


@app.post("/updates")
async def stream_update(body: Notes) -> StreamingResponse:
    """Run the crew, and stream what happens."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # proxies are not to collect the events
    return StreamingResponse(events(body.notes), media_type="text/event-stream", headers=headers)


@app.post("/updates/{thread_id}/finish")
async def finish_update(thread_id: str) -> dict[str, str]:
    """Continue a run whose reader has left, and return its result."""
    return {"update": await finish(thread_id)}
