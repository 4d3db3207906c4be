"""Requests and answers with asyncio: talk.py serve|ask HOST PORT key=value…

serve   request, answer, think (ms), first (ms before the first answer)
ask     request, answer, count, pause (ms), split (octets written first), nagle=1
"""

import asyncio
import json
import socket
import sys
import time


def nagle(writer):
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)


async def serve(host, port, o):
    async def play(reader, writer):
        served = 0
        if o.get("nagle"):
            nagle(writer)
        try:
            while True:
                await reader.readexactly(int(o["request"]))
                await asyncio.sleep(o.get("think", 0) / 1e3)
                writer.write(bytes(int(o["answer"])))
                await writer.drain()
                served += 1
        except (asyncio.IncompleteReadError, ConnectionError):
            print(json.dumps({"served": served}), flush=True)
            writer.close()

    async with await asyncio.start_server(play, host, port) as server:
        await server.serve_forever()


async def ask(host, port, o):
    reader, writer = await asyncio.open_connection(host, port)
    if o.get("nagle"):
        nagle(writer)
    answers, longest, split = 0, 0.0, int(o.get("split", 0))
    for _ in range(int(o["count"])):
        begun = time.monotonic()
        if split:
            writer.write(bytes(split))
            await asyncio.sleep(0)
        writer.write(bytes(int(o["request"]) - split))
        try:
            await reader.readexactly(int(o["answer"]))
        except asyncio.IncompleteReadError:
            break
        answers, longest = answers + 1, max(longest, time.monotonic() - begun)
        await asyncio.sleep(o.get("pause", 0) / 1e3)
    writer.close()
    print(json.dumps({"answers": answers, "longest_ms": round(longest * 1e3, 1)}), flush=True)


mode, host, port, *words = sys.argv[1:]
asyncio.run({"serve": serve, "ask": ask}[mode](host, int(port), {key: float(text) for key, text in (it.split("=") for it in words)}))
