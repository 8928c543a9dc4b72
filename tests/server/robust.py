"""Many people at once against a server that is killed and a network that is cut: what the browser's outbox does, without the browser.

Used by the tests with a few people, and by `benchmarks/server.py` with many.
"""

import asyncio
import json
import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field

from postgres import free_port


class Server:
    """A server in a process of its own, on a port that stays the same, that can be killed and started again.

    Arguments:
        command: Words of the command line; "{port}" is filled in.
    """

    def __init__(self, command):
        self.port = free_port()
        self._command = [str(word).format(port=self.port) for word in command]
        self.kills = 0

    async def start(self):
        self._launch()
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.close()
                return
            assert self._process.poll() is None, "the server does not start"
            await asyncio.sleep(0.05)

    def _launch(self):
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, env=os.environ.copy())

    def kill(self):
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self.kills += 1

    def stop(self):
        self._process.terminate()
        self._process.wait()


class Forked(Server):
    """A server forked, each time, from a process that has imported what it needs.

    Arguments:
        command: Words of the command line of a program that forks a server for each port that it is told, and answers with its number.
    """

    def __init__(self, command):
        super().__init__(command)
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def _launch(self):
        print(self.port, file=self._process.stdin, flush=True)
        self._number = int(self._process.stdout.readline())

    def kill(self):
        os.kill(self._number, signal.SIGKILL)
        with suppress(ProcessLookupError):
            while True:
                os.kill(self._number, 0)
                time.sleep(0.01)
        self.kills += 1

    def stop(self):
        os.kill(self._number, signal.SIGTERM)
        self._process.stdin.close()
        self._process.wait()


class Network:
    """What lies between people and the server; while it is cut, nothing passes and connections break."""

    def __init__(self, target):
        self.port, self._target, self._cut, self._open = free_port(), target, False, set()

    async def start(self):
        self._server = await asyncio.start_server(self._pass, "127.0.0.1", self.port)

    async def cut(self, seconds):
        self._cut = True
        self._break()
        await asyncio.sleep(seconds)
        self._cut = False

    async def stop(self):
        self._server.close()
        self._break()
        await asyncio.sleep(0.1)

    def _break(self):
        for writer in list(self._open):
            writer.transport.abort()

    async def _pass(self, reader, writer):
        self._open.add(writer)
        try:
            if not self._cut:
                there, back = await asyncio.open_connection("127.0.0.1", self._target)
                self._open.add(back)
                await asyncio.gather(_pump(reader, back), _pump(there, writer))
                self._open.discard(back)
        except OSError:
            pass
        finally:
            self._open.discard(writer)
            writer.transport.abort()


async def _pump(reader, writer):
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with suppress(OSError):
        writer.close()


class Refused(Exception):
    pass


@dataclass
class Times:
    """Seconds from a request to its answer, where there was one at once."""

    start: list = field(default_factory=list)
    trials: list = field(default_factory=list)


class Person:
    """A page without a browser: asks until it is heard, and keeps what was acknowledged."""

    def __init__(self, name, port, think, times, rng):
        self.name, self._port, self._think, self._times, self._rng = name, port, think, times, rng
        self._key, self._connection, self.label = "", None, ""
        self.acknowledged, self.finished = {}, False

    async def take_part(self, arrive=0.0):
        await asyncio.sleep(arrive)
        await self._start()
        while not self.finished:
            try:
                await self._blocks()
                await self._ask("finish")
                self.finished = True
            except Refused as refused:
                reason = refused.args[0]["reason"]
                assert reason in ("elsewhere", "order", "incomplete"), reason
                if reason == "elsewhere":
                    await self._start()

    async def _start(self):
        started = await self._ask("start", {"consent": True, "browser": "x", "prolific": {"person": self.name}})
        self._key, self.label = started["key"], started["label"]

    async def _blocks(self):
        while (block := (await self._ask("block", {}))["block"]) is not None:
            for trial in range(block["trial"], block["trials"]):
                await asyncio.sleep(self._think * (0.5 + self._rng.random()))
                answer = self._rng.randrange(len(block["options"]))
                body = {
                    "position": block["position"],
                    "attempt": block["attempt"],
                    "trials": [{"trial": trial, "answer": answer, "seconds": 0.5}],
                }
                saved = await self._ask("trials", body)
                self.acknowledged[(block["position"], block["attempt"], trial)] = (answer, saved["outcomes"][0])

    async def _ask(self, path, body=None):
        failures = 0
        while True:
            began = time.perf_counter()
            try:
                status, content = await asyncio.wait_for(self._post(f"/api/{path}", body), 10)
            except (TimeoutError, OSError, EOFError, ValueError):
                self._close()
            else:
                if not failures and hasattr(self._times, path):
                    getattr(self._times, path).append(time.perf_counter() - began)
                if status == 200:
                    return content
                if content["reason"] not in ("failed", "too_often"):
                    raise Refused(content)
            failures += 1
            await asyncio.sleep(min(2.0, 0.1 * 2**failures) * (0.5 + self._rng.random()))

    async def _post(self, path, body):
        if self._connection is None:
            self._connection = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._connection
        text = b"" if body is None else json.dumps(body).encode()
        lines = (f"POST {path} HTTP/1.1", "host: x", f"authorization: Bearer {self._key}", "content-type: application/json")
        head = "\r\n".join([*lines, f"content-length: {len(text)}", "", ""])
        writer.write(head.encode() + text)
        await writer.drain()
        answer = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(int(line.split(":")[1]) for line in answer.lower().splitlines() if line.startswith("content-length"))
        return int(answer.split()[1]), json.loads(await reader.readexactly(length))

    def _close(self):
        if self._connection is not None:
            self._connection[1].transport.abort()
        self._connection = None


async def ordeal(server, count, *, kills=0, cut=0.0, think=0.1, within=1.0, pause=(0.5, 2.0), seed=0):
    """Let `count` people arrive within some seconds and take part while the server is killed and the network is cut."""
    rng, times = random.Random(seed), Times()
    await server.start()
    network = Network(server.port)
    await network.start()
    people = [Person(f"person-{i}", network.port, think, times, random.Random(i)) for i in range(count)]
    taking_part = [asyncio.create_task(person.take_part(rng.random() * within)) for person in people]
    for number in range(kills):
        await asyncio.sleep(rng.uniform(*pause))
        if cut and number == kills // 2:
            await network.cut(cut)
        assert not all(task.done() for task in taking_part), "nobody is left who could lose anything"
        server.kill()
        await server.start()
    await asyncio.gather(*taking_part)
    await network.stop()
    return people, times


def lost_and_duplicated(people, rows):
    """Acknowledged trials that are not kept as they were acknowledged, and trials that are kept twice.

    Arguments:
        rows: (label, position, attempt, trial, answer, outcomes) of everything in the database.
    """
    kept = {}
    duplicated = 0
    for label, position, attempt, trial, answer, outcomes in rows:
        duplicated += (label, position, attempt, trial) in kept
        kept[label, position, attempt, trial] = (answer, outcomes)
    lost = sum(
        kept.get((person.label, *place), (None, None))[1] != outcomes
        for person in people
        for place, (_, outcomes) in person.acknowledged.items()
    )
    return lost, duplicated
