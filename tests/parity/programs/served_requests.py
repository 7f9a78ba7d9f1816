"""A web server (Starlette) whose handlers kick crews off: awaited, in threads, at the same time, streaming, failing."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
from crewai import Agent, Crew, Task
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse
from starlette.routing import Route


class Answer(BaseModel):
    text: str


def make(structured=False):
    agent = Agent(role="Clerk of {who}", goal="Serve {who}", backstory="Serves.")
    task = Task(
        description="Serve {who} DESC-1",
        expected_output="text",
        agent=agent,
        **({"output_pydantic": Answer} if structured else {}),
    )
    return Crew(agents=[agent], tasks=[task])


shared = make()


async def awaited(request):
    body = await request.json()
    out = await make().kickoff_async(inputs=body)
    return JSONResponse({"raw": out.raw, "agent": out.tasks_output[0].agent})


async def in_thread(request):
    body = await request.json()
    out = await run_in_threadpool(make().kickoff, body)
    return JSONResponse({"raw": out.raw})


def sync_handler(request):
    out = make().kickoff(inputs={"who": request.query_params["who"]})
    return JSONResponse({"raw": out.raw})


async def structured(request):
    out = await make(True).kickoff_async(inputs={"who": "json"})
    return JSONResponse(out.pydantic.model_dump() if out.pydantic else {"raw": out.raw})


async def each(request):
    outs = await make().kickoff_for_each_async([{"who": "Ada"}, {"who": "Bob"}])
    return JSONResponse([o.raw for o in outs])


async def failing(request):
    try:
        await make().kickoff_async(inputs={"x": 1})
    except Exception as e:
        return JSONResponse({"error": type(e).__name__ in ("KeyError", "ValueError", "MissingInput")}, status_code=422)


async def gathered(request):
    outs = await asyncio.gather(*(make().kickoff_async(inputs={"who": w}) for w in ("Ada", "Bob", "Ada")))
    return JSONResponse([o.raw for o in outs])


app = Starlette(
    routes=[
        Route("/awaited", awaited, methods=["POST"]),
        Route("/thread", in_thread, methods=["POST"]),
        Route("/sync", sync_handler),
        Route("/structured", structured),
        Route("/each", each),
        Route("/failing", failing),
        Route("/gathered", gathered),
    ]
)


async def main():
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://here") as client:
        print((await client.post("/awaited", json={"who": "Ada"})).json())
        print((await client.post("/thread", json={"who": "Bob"})).json())
        print((await client.get("/sync", params={"who": "Ada"})).json())
        print((await client.get("/structured")).json())
        print((await client.get("/each")).json())
        r = await client.get("/failing")
        print(r.status_code, r.json())
        print((await client.get("/gathered")).json())
        many = await asyncio.gather(*(client.post("/awaited", json={"who": w}) for w in ["Ada", "Bob"] * 4))
        print([m.json()["raw"] for m in many])


asyncio.run(main())
with ThreadPoolExecutor(4) as pool:
    print(list(pool.map(lambda w: make().kickoff(inputs={"who": w}).raw, ["Ada", "Bob"] * 4)))

out = []
threads = [threading.Thread(target=lambda: out.append(make().kickoff({"who": "Ada"}).raw)) for _ in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
print(out)

parallel = True
script = {
    "Serve json": [{"json": {"text": "JSON-1"}}],
    "Serve Ada": ["ADA-1"],
    "Serve Bob": ["BOB-1"],
    "*": [{"json": {"text": "JSON-1"}}],
}
