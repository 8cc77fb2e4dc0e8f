"""Start brokers and databases for tests and trials, on the loopback interface, on free ports, in temporary folders.

    python scripts/brokers.py redis nats postgresql kafka      # starts them, prints their addresses, stops on Ctrl-C
    python scripts/brokers.py --install kafka                  # only brings what is lacking

Redis, NATS and PostgreSQL are those of the system (Debian: redis-server, nats-server, postgresql). Kafka comes from its
jars at Maven Central, once, into a cache outside this repository (``THALWEG_KAFKA``, else ``~/.cache/thalweg/kafka``),
and runs without ZooKeeper. What cannot be had raises ``MissingError`` with the reason.
"""

import argparse
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KAFKA = "3.9.1"
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>kafka</artifactId><version>1</version><packaging>pom</packaging><dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{}</version></dependency>
</dependencies></project>"""


class MissingError(Exception):
    """A server cannot be had here; the text says why."""


def free_port():
    """Find a port that nobody listens on."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A server in a folder of its own, which can be stopped and started again with all it knows."""

    def __init__(self):
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix=f"thalweg-{self.name}-"))
        self.process = None
        self.prepare()
        self.start()

    def prepare(self):
        """Make what the server needs before it starts."""

    def command(self):
        """Give the command that starts it."""
        raise NotImplementedError

    def start(self, seconds=40):
        """Start it, and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command(), stdout=log, stderr=log, cwd=self.folder, start_new_session=True
            )
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                tail = (self.folder / "log").read_text("utf-8", "replace")[-300:]
                raise MissingError(f"{self.name} ended at once: {' '.join(tail.split())}")
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                if self.ready():
                    return
            time.sleep(0.05)
        self.stop()
        raise MissingError(f"{self.name} did not answer within {seconds} seconds")

    def ready(self):
        """Does it answer questions?"""
        return True

    def stop(self, hard=False):
        """Stop it; hard: without a word."""
        if self.process is not None and self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL if hard else signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    def close(self):
        """Stop it and remove its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def address(self):
        """Where it is."""
        return f"{self.name}://127.0.0.1:{self.port}"


class Redis(Server):
    """Redis, which writes every change to the disk before it answers."""

    name = "redis"

    def command(self):
        """Give the command that starts it."""
        program = shutil.which("redis-server")
        if program is None:
            raise MissingError("redis-server is not installed")
        return [program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", "",
                "--appendonly", "yes", "--appendfsync", "everysec"]  # fmt: skip


class NATS(Server):
    """NATS with JetStream."""

    name = "nats"

    def command(self):
        """Give the command that starts it."""
        program = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin")
        if program is None:
            raise MissingError("nats-server is not installed")
        return [program, "-js", "-a", "127.0.0.1", "-p", str(self.port), "-sd", str(self.folder)]


class PostgreSQL(Server):
    """PostgreSQL, run by the user postgres where we are root."""

    name = "postgresql"

    def prepare(self):
        """Make an empty cluster."""
        places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        found = shutil.which("initdb") or (str(places[-1]) if places else None)
        if found is None:
            raise MissingError("PostgreSQL's initdb is not installed")
        self.programs = Path(found).resolve().parent
        self.as_user = []
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            try:
                shutil.chown(self.folder, "postgres")
            except LookupError:
                raise MissingError("PostgreSQL does not run as root, and there is no user postgres") from None
            self.as_user = ["runuser", "-u", "postgres", "--"]
        done = subprocess.run(
            [*self.as_user, found, "-D", str(self.folder / "data"), "-U", "postgres", "-A", "trust"],
            capture_output=True, cwd=self.folder, check=False,
        )  # fmt: skip
        if done.returncode:
            raise MissingError(f"initdb failed: {done.stderr.decode('utf-8', 'replace')[-200:]}")

    def command(self):
        """Give the command that starts it."""
        return [*self.as_user, str(self.programs / "postgres"), "-D", str(self.folder / "data"), "-p", str(self.port),
                "-h", "127.0.0.1", "-k", str(self.folder)]  # fmt: skip

    def ready(self):
        """Does it take connections?"""
        ask = [*self.as_user, str(self.programs / "pg_isready"), "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(ask, capture_output=True, cwd=self.folder, check=False).returncode == 0

    @property
    def address(self):
        """Where it is."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"


def kafka_jars(install=True):
    """Give the folder with Kafka's jars, and bring them there if they are lacking."""
    home = Path(os.environ.get("THALWEG_KAFKA") or Path.home() / ".cache" / "thalweg" / "kafka")
    jars = home / KAFKA
    if (jars / f"kafka_2.13-{KAFKA}.jar").exists():
        return jars
    maven = shutil.which("mvn")
    if maven is None or not install:
        raise MissingError("Kafka's jars are not there, and Maven, which would bring them, is not installed")
    part = jars.with_name(f"{KAFKA}.part")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pom.xml").write_text(_POM.format(KAFKA), encoding="utf-8")
        done = subprocess.run(
            [maven, "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={part}"],
            cwd=folder, capture_output=True, timeout=600, check=False,
        )  # fmt: skip
    if done.returncode:
        raise MissingError("Maven could not bring Kafka's jars")
    part.rename(jars)
    return jars


class Kafka(Server):
    """One node of Kafka, broker and controller at once."""

    name = "kafka"

    def prepare(self):
        """Format the folder of the logs."""
        if shutil.which("java") is None:
            raise MissingError("Java, which Kafka needs, is not installed")
        self.jars = kafka_jars()
        controller = free_port()
        self.settings = self.folder / "server.properties"
        self.settings.write_text(f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{self.port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={self.folder / "logs"}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=true
num.partitions=1
log.retention.check.interval.ms=1000
""", encoding="utf-8")  # fmt: skip
        self.java("kafka.tools.StorageTool", "format", "-t", "dGhhbHdlZ3RoYWx3ZWcwMA", "-c", str(self.settings))

    def java(self, *arguments):
        """Run one of Kafka's own programs."""
        done = subprocess.run([*self._java(), *arguments], capture_output=True, cwd=self.folder, check=False)
        if done.returncode:
            raise MissingError(f"Kafka's {arguments[0]} failed: {done.stderr.decode('utf-8', 'replace')[-300:]}")

    def _java(self):
        return ["java", "-Xmx384m", "-Xms128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
                "-cp", f"{self.jars}/*"]  # fmt: skip

    def command(self):
        """Give the command that starts it."""
        return [*self._java(), "kafka.Kafka", str(self.settings)]


SERVERS = {server.name: server for server in (Redis, NATS, PostgreSQL, Kafka)}


def main():
    """Start the servers that are named, and wait."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("servers", nargs="*", default=list(SERVERS), help=", ".join(SERVERS))
    options.add_argument("--install", action="store_true", help="bring what is lacking, start nothing")
    given = options.parse_args()
    if given.install:
        with contextlib.suppress(MissingError):
            kafka_jars()
        return
    running = []
    try:
        for name in given.servers:
            try:
                running.append(SERVERS[name]())
                print(running[-1].address, flush=True)
            except MissingError as why:
                print(f"{name}: {why}", file=sys.stderr)
        with contextlib.suppress(KeyboardInterrupt):
            ends = {signal.SIGINT, signal.SIGTERM}
            signal.pthread_sigmask(signal.SIG_BLOCK, ends)  # else they end this process before the servers
            signal.sigwait(ends)
    finally:
        for server in running:
            server.close()


if __name__ == "__main__":
    main()
