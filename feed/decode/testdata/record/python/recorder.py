"""Records what a limiter library writes to Redis and what it answers.

A driver is a small program of any runtime that holds one library. It reads one JSON request a line on its
standard input and writes one JSON reply a line: {"do": "open", ...} builds the limiter, {"do": "call", ...}
asks it once. The recorder starts a redis-server of its own, watches it with MONITOR, and writes one fixture a scenario.
"""

import base64
import hashlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import redis

FIXTURES = Path(os.environ.get("FIXTURES", Path(__file__).resolve().parents[2] / "fixtures"))
LIMITER_DB, PEEK_DB = 0, 9
# Commands of a connection's set-up, which say nothing about a limiter.
SETUP = {"AUTH", "CLIENT", "COMMAND", "ECHO", "HELLO", "INFO", "PING", "SCRIPT", "SELECT"}
ESCAPES = {ord("n"): 10, ord("r"): 13, ord("t"): 9, ord("a"): 7, ord("b"): 8}


def text(raw):
    """Returns bytes as a string, or as {"base64": ...} if they are not valid UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode()}


def number(score):
    """Returns a score as an int where it is whole."""
    return int(score) if float(score).is_integer() else float(score)


class Server:
    """Runs a redis-server on a free port until closed."""

    def __init__(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--save", "", "--dir", self.folder.name, "--bind", "127.0.0.1"],
            stdout=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 10
        while True:
            try:
                self.client = redis.Redis(port=self.port, single_connection_client=True)
                return
            except redis.ConnectionError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def close(self):
        self.client.close()
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def time_ms(self):
        seconds, micros = self.client.time()
        return seconds * 1000 + micros / 1000

    def read_keys(self):
        """Returns the server's time in ms and every key of the limiter's database, read in one transaction."""
        names = sorted(self.client.keys("*"))
        types = [self.client.type(name).decode() for name in names]
        reads = self.client.pipeline(transaction=True)
        reads.time()
        for name, kind in zip(names, types):
            reads.pttl(name)
            if kind == "string":
                reads.get(name)
            elif kind == "hash":
                reads.hgetall(name)
            elif kind == "list":
                reads.lrange(name, 0, -1)
            elif kind == "set":
                reads.smembers(name)
            elif kind == "zset":
                reads.zrange(name, 0, -1, withscores=True)
            else:
                raise ValueError(f"key {name!r} has type {kind!r}, which the recorder does not read")
        seconds, micros = (replies := reads.execute())[0]
        keys = []
        for i, (name, kind) in enumerate(zip(names, types)):
            ttl, value = replies[1 + 2 * i], replies[2 + 2 * i]
            if ttl == -2:
                continue
            keys.append({"key": text(name), "type": kind, "ttl_ms": ttl, "value": plain(kind, value)})
        return round(seconds * 1000 + micros / 1000, 3), keys


def plain(kind, value):
    """Returns a value of Redis in the fixture's form."""
    if kind == "string":
        return text(value)
    if kind == "hash":
        return {text(field): text(held) for field, held in value.items()}
    if kind == "zset":
        return [[text(member), number(score)] for member, score in value]
    return [text(element) for element in (sorted(value) if kind == "set" else value)]


class Monitor:
    """Collects the commands that reach the limiter's database, scripts' effects included."""

    def __init__(self, server):
        self.server, self.lines, self.arrived = server, [], threading.Condition()
        self.own = self.address(server.client)
        self.socket = socket.create_connection(("127.0.0.1", server.port))
        self.socket.sendall(b"MONITOR\r\n")
        self.stream = self.socket.makefile("rb")
        self.stream.readline()
        threading.Thread(target=self.collect, daemon=True).start()

    @staticmethod
    def address(client):
        host, port = client.connection._sock.getsockname()
        return f"{host}:{port}".encode()

    def collect(self):
        try:
            for line in self.stream:
                with self.arrived:
                    self.lines.append(line.rstrip(b"\r\n"))
                    self.arrived.notify()
        except (OSError, ValueError):
            pass

    def take(self):
        """Returns the commands since the last call, oldest first."""
        mark = os.urandom(8).hex()
        self.server.client.echo(mark)
        with self.arrived:
            self.arrived.wait_for(lambda: any(mark.encode() in line for line in self.lines), timeout=5)
            lines, self.lines = self.lines, []
        commands = []
        for line in lines:
            head, _, rest = line.partition(b"] ")
            db, _, source = head.partition(b"[")[2].partition(b" ")
            words = parse(rest)
            if db != b"%d" % LIMITER_DB or source == self.own or not words:
                continue
            name = words[0].decode().upper()
            if name in SETUP:
                continue
            if name == "EVAL":
                words[1] = b"sha1:" + hashlib.sha1(words[1]).hexdigest().encode()
            commands.append([name] + [text(word) for word in words[1:]])
        return commands

    def close(self):
        self.socket.close()


def parse(rest):
    """Splits the quoted words of one MONITOR line."""
    words, word, i, inside = [], bytearray(), 0, False
    while i < len(rest):
        byte = rest[i]
        if not inside:
            if byte == ord('"'):
                inside, word = True, bytearray()
        elif byte == ord("\\"):
            i += 1
            if rest[i] == ord("x"):
                word.append(int(rest[i + 1 : i + 3], 16))
                i += 2
            else:
                word.append(ESCAPES.get(rest[i], rest[i]))
        elif byte == ord('"'):
            inside = False
            words.append(bytes(word))
        else:
            word.append(byte)
        i += 1
    return words


class Driver:
    """Runs one library in a process of its own and asks it by lines of JSON."""

    def __init__(self, command, port, db, scenario):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        library = scenario.get("through", scenario["library"])
        self.about = self.ask({"do": "open", "port": port, "db": db, "library": library, "config": scenario["config"]})

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the driver ended on {request}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def call(n=1, cost=1, record="each", **more):
    """Asks the library n times; record="last" makes one step of all of them."""
    return ("call", n, cost, record, more)


def sleep(ms):
    return ("sleep", ms)


def align(window_ms, phase_ms):
    """Waits until the server's time is phase_ms into a window that is aligned to the epoch."""
    return ("align", window_ms, phase_ms)


def peek(cost=1, limit_ms=15000, every_ms=8, **more):
    """Asks the library on a copy of its keys until it admits. A cost other than 1 is waited for, but makes no peek."""
    return ("peek", cost, limit_ms, every_ms, more)


class Recording:
    """Plays one scenario against a server of its own."""

    def __init__(self, command, scenario):
        self.scenario, self.steps, self.peeks = scenario, [], []
        self.server = Server()
        self.monitor = Monitor(self.server)
        self.driver = Driver(command, self.server.port, LIMITER_DB, scenario)
        self.shadow = Driver(command, self.server.port, PEEK_DB, scenario)
        self.monitor.take()

    def close(self):
        for part in (self.driver, self.shadow, self.monitor, self.server):
            part.close()

    def play(self):
        for part in self.scenario["story"]:
            getattr(self, part[0])(*part[1:])

    def sleep(self, ms):
        time.sleep(ms / 1000)

    def align(self, window_ms, phase_ms):
        time.sleep((phase_ms - self.server.time_ms()) % window_ms / 1000)

    def call(self, n, cost, record, more):
        for i in range(n):
            reply = self.driver.ask({"do": "call", "cost": cost, **more})
            if record == "last" and i < n - 1:
                continue
            commands = self.monitor.take()
            at_ms, keys = self.server.read_keys()
            self.monitor.take()
            said = reply["call"] if record == "each" else f"{n} x {reply['call']}"
            step = {"at_ms": at_ms, "call": said, "cost": cost, "commands": commands}
            step["answer"] = {
                "allowed": None, "limit": None, "remaining": None, "retry_after_ms": None, "reset_after_ms": None,
                "raw": None, **reply["answer"],
            }
            if "subject" in reply:
                step["subject"] = reply["subject"]
            step["keys"] = keys
            self.steps.append(step)

    def peek(self, cost, limit_ms, every_ms, more):
        step, client = self.steps[-1], self.server.client
        for name in client.keys("*"):
            client.execute_command("COPY", name, name, "DB", PEEK_DB, "REPLACE")
        denied_ms = self.server.time_ms()
        while True:
            before = self.server.time_ms()
            if self.shadow.ask({"do": "call", "cost": cost, **more})["answer"]["allowed"]:
                break
            denied_ms = before
            if denied_ms - step["at_ms"] > limit_ms:
                raise RuntimeError(f"{self.scenario['library']}: not admitted within {limit_ms} ms")
            time.sleep(every_ms / 1000)
        after = self.server.time_ms()
        if cost == 1:
            self.peeks.append({
                "after_step": len(self.steps) - 1, "at_ms": step["at_ms"], "next_ms": round(after - step["at_ms"], 3),
                "how": "asked the library on a copy of the keys until it admitted", "resolution_ms": round(after - denied_ms, 3),
            })
        client.execute_command("SELECT", PEEK_DB)
        client.flushdb()
        client.execute_command("SELECT", LIMITER_DB)

    def fixture(self):
        scenario = self.scenario
        configured = {"limit": None, "window_ms": None, "burst": None, "cost": 1, **scenario["configured"]}
        return {
            "library": scenario["library"], "version": self.driver.about["version"], "client": self.driver.about["client"],
            "source": scenario.get("source", "real"), "scenario": scenario["scenario"], "algorithm": scenario["algorithm"],
            "configured": configured, "in_redis": scenario["in_redis"], "denied": scenario["denied"],
            "steps": self.steps, "peeks": self.peeks, "notes": scenario.get("notes", []),
        }


def layout(fixture):
    """Returns the fixture as JSON with one line a step, so that a new recording shows as a readable difference."""
    lines = []
    for name, value in fixture.items():
        if name in ("steps", "peeks", "notes") and value:
            rows = ",\n    ".join(json.dumps(row, ensure_ascii=False) for row in value)
            lines.append(f'  "{name}": [\n    {rows}\n  ]')
        else:
            lines.append(f'  "{name}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def record_one(job):
    """Records one scenario and returns a line that says what was written."""
    command, scenario = job
    recording = Recording(command, scenario)
    try:
        recording.play()
        fixture = recording.fixture()
    finally:
        recording.close()
    path = FIXTURES / scenario["library"] / f"{scenario['scenario']}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(layout(fixture))
    denied = sum(step["answer"]["allowed"] is False for step in fixture["steps"])
    return f"{scenario['library']}/{scenario['scenario']}: {len(fixture['steps'])} steps, {denied} denied, {len(fixture['peeks'])} peeks"


def record(command, scenarios, workers=4):
    """Records the scenarios, or those that the command line (beginnings of library/scenario) and ONLY (part of a library) choose."""
    chosen = [
        (command, scenario)
        for scenario in scenarios
        if os.environ.get("ONLY", "") in scenario["library"]
        and (len(sys.argv) < 2 or f"{scenario['library']}/{scenario['scenario']}".startswith(tuple(sys.argv[1:])))
    ]
    failed = []
    with ThreadPoolExecutor(workers) as pool:
        jobs = {pool.submit(record_one, one): f"{one[1]['library']}/{one[1]['scenario']}" for one in chosen}
        for job in as_completed(jobs):
            if fault := job.exception():
                failed.append(f"{jobs[job]}: {fault}")
            else:
                print(job.result(), flush=True)
    if failed:
        sys.exit("not recorded:\n" + "\n".join(failed))
