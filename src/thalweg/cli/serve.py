"""The command ``thalweg serve``: a learner in production."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg.cli.names import complete_learners
from thalweg.core import params


def serve(
    learner: Annotated[
        str,
        typer.Argument(
            help="A learner's name, name(parameter=value), module:object, or a saved model, which learns on.",
            autocompletion=complete_learners,
        ),
    ] = "",
    target: Annotated[str | None, typer.Option(help="The field of records that holds the label.")] = None,
    schema: Annotated[
        Path | None, typer.Option(help="A JSON file: the features, and the classes, where they are known.")
    ] = None,
    folder: Annotated[
        Path, typer.Option(help="The journal and the snapshots; a service that finds some goes on from there.")
    ] = Path("thalweg-service"),
    host: Annotated[str, typer.Option(help="The address; other than loopback only with --token-file.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0: any that is free.", min=0, max=65_535)] = 8642,
    budget: Annotated[float | None, typer.Option(help="Share of the labels to ask for; by default all.")] = None,
    strategy: Annotated[
        str | None, typer.Option(help="How to choose the labels to ask for (avu by default); see thalweg list.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that answer.", min=1, max=64)] = 1,
    shadow: Annotated[list[str] | None, typer.Option(help="A learner that learns and is scored beside.")] = None,
    promote: Annotated[
        str | None,
        typer.Option(
            help="LABELS or LABELS:ALPHA, such as 5000:0.001: a shadow that is better over so many labels, by a "
            "sequential test at this level, takes over by itself."
        ),
    ] = None,
    every: Annotated[
        str, typer.Option(help="Learned rows (1000) or seconds (5s) between versions; each: answers know all labels.")
    ] = "1000",
    sync: Annotated[
        str, typer.Option(help="When the journal reaches the disk: always (before an answer), interval (50 ms), never.")
    ] = "always",
    token_file: Annotated[Path | None, typer.Option(help="Tokens and roles; see thalweg token.")] = None,
    rate: Annotated[float | None, typer.Option(help="Requests per second and token.")] = None,
    max_body: Annotated[int, typer.Option(help="Bytes of the largest body.", min=1)] = 16 << 20,
    max_rows: Annotated[int, typer.Option(help="Records of the largest request.", min=1)] = 10_000,
    max_features: Annotated[int, typer.Option(help="Features of the widest record.", min=1)] = 10_000,
    max_open: Annotated[int, typer.Option(help="Records that may wait for a label.", min=1)] = 100_000,
    max_age: Annotated[float | None, typer.Option(help="Seconds that a record may wait for its label.")] = None,
    max_disk: Annotated[int | None, typer.Option(help="Bytes of the folder; beyond, learning is refused.")] = None,
    min_accuracy: Annotated[float | None, typer.Option(help="Raise an alarm below this accuracy.")] = None,
    no_labels: Annotated[
        float | None, typer.Option(help="Raise an alarm after so many minutes without a label.")
    ] = None,
    webhook: Annotated[str | None, typer.Option(help="An address that alarms are sent to.")] = None,
    webhook_secret_file: Annotated[Path | None, typer.Option(help="Holds the secret that signs them.")] = None,
    certificate: Annotated[Path | None, typer.Option(help="For TLS: a file with the certificate.")] = None,
    private_key: Annotated[Path | None, typer.Option(help="For TLS: a file with its private key.")] = None,
    window: Annotated[int, typer.Option(help="Labels of the rolling metrics.", min=1)] = 1_000,
    seed: Annotated[int | None, typer.Option(help="Seed of the learners.", min=0)] = None,
    extra: Annotated[str, typer.Option(help="Fields that the schema does not have: ignore or refuse.")] = "ignore",
    lease: Annotated[float, typer.Option(help="Seconds after which a question at the desk goes to another.")] = 120.0,
    hold: Annotated[float, typer.Option(help="Seconds within which an answer at the desk can be undone.")] = 60.0,
    second: Annotated[float, typer.Option(help="Share of the questions that a second expert answers, too.")] = 0.1,
    log_requests: Annotated[bool, typer.Option("--log-requests", help="A line of the log for each request.")] = False,
    feed: Annotated[
        float | None,
        typer.Option(
            help="Feed it a drifting stream by its own interface, so many records a second, for a look at it."
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", help="A topic of records to answer: kafka://, redis:// or nats://, see the page Brokers."
        ),
    ] = None,
    labels: Annotated[str | None, typer.Option(help='A topic of labels, {"id": …, "label": …}.')] = None,
    to: Annotated[str | None, typer.Option(help="Where the answers to --from go: a topic or a file.")] = None,
    key: Annotated[
        str | None, typer.Option(help="The field that names a record of --from; by default the broker's own key.")
    ] = None,
    on_gap: Annotated[
        str, typer.Option(help="stop or continue where a broker has dropped messages that were not read yet.")
    ] = "stop",
    config: Annotated[
        Path | None, typer.Option(help="A TOML file with any of these options, by name; the command line wins.")
    ] = None,
    context: typer.Context = None,  # type: ignore[assignment]
) -> None:
    """Serve a learner over HTTP: predictions, labels that come late, a journal from which it goes on after a crash."""
    given = {name: value for name, value in locals().items() if name not in ("config", "context")}
    if config is not None:
        given |= _from_file(config, given, context)
    if not given["learner"]:
        raise ValueError("learner must be named, as in thalweg serve arf, or by learner in the file of --config")
    _serve(**given)


def _from_file(config: Path, given: dict[str, Any], context: Any) -> dict[str, Any]:
    """Options of a file that the command line does not give."""
    try:
        found = tomllib.loads(config.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"--config must be a TOML file, {config} is not: {error}") from None
    named = {{"from": "source"}.get(key, key.replace("-", "_")): value for key, value in found.items()}
    unknown = [key for key in named if key not in given]
    if unknown:
        raise ValueError(f"--config must hold options of thalweg serve, got {params.shown(unknown[0])} in {config}")
    typed = {}
    for name, value in named.items():
        source = None if context is None else context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            continue
        if name in ("folder", "schema", "token_file", "webhook_secret_file", "certificate", "private_key"):
            value = Path(value)
        elif name == "every":
            value = str(value)
        typed[name] = value
    return typed


def _serve(
    *, learner: str, schema: Path | None, folder: Path, host: str, port: int, workers: int, shadow: list[str] | None,
    promote: str | None, every: str, max_age: float | None, no_labels: float | None, webhook_secret_file: Path | None,
    certificate: Path | None, private_key: Path | None, log_requests: bool, feed: float | None, **more: Any,
) -> None:  # fmt: skip
    try:
        import uvicorn  # noqa: F401
    except ImportError:
        raise ImportError("thalweg serve needs uvicorn and others: pip install 'thalweg[serve]'") from None
    from thalweg.core.schema import Schema
    from thalweg.serve.application import app
    from thalweg.serve.security import check_address, read_tokens
    from thalweg.serve.server import run

    check_address(host, None if more["token_file"] is None else read_tokens(more["token_file"]))
    number, seconds = read_every(every)
    secret = None if webhook_secret_file is None else webhook_secret_file.read_text("utf-8").strip()
    known = None if schema is None else Schema.from_json(schema.read_bytes())
    params.choice("--on-gap", more["on_gap"], ("stop", "continue"))
    if workers > 1 and (more["source"] is not None or more["labels"] is not None):
        raise ValueError("--from and --labels are read by one process, they must not be given with --workers")
    if feed is not None and (more["token_file"] is not None or certificate is not None):
        raise ValueError("--feed is for a look at a service, it must not be given with --token-file or --certificate")
    service = app(
        learner, folder, schema=known, shadows=shadow or (), every=number, seconds=seconds,
        promote=read_promote(promote), max_seconds=max_age, no_labels=None if no_labels is None else 60.0 * no_labels,
        webhook_secret=secret, **more,
    )  # fmt: skip

    fed: list[subprocess.Popen[bytes]] = []

    def ready(address: str) -> None:
        if feed is not None:
            words = [sys.executable, "-m", "thalweg.serve.feed", address, "--rate", str(feed)]
            fed.append(subprocess.Popen(words, stdin=subprocess.DEVNULL))
        engine = service.engine
        more = f", goes on from {folder} ({engine.replayed:,} entries replayed)" if engine.applied else f" in {folder}"
        print(f"thalweg: {learner} at {address}{more}; stop with Ctrl-C", flush=True)

    if workers > 1:
        from thalweg.serve.workers import run_with_workers

        rate = None if more["rate"] is None else more["rate"] / workers
        settings = {name: more[name] for name in ("target", "extra", "max_rows", "max_features", "max_body")}
        settings |= {"missing": service.engine.missing, "rate": rate, "timeout": 30.0,
                     "token_file": None if more["token_file"] is None else str(more["token_file"])}  # fmt: skip
        run_with_workers(
            service, workers, host=host, port=port, settings=settings, on_ready=ready,
            certificate=None if certificate is None else str(certificate),
            private_key=None if private_key is None else str(private_key),
        )  # fmt: skip
        return
    try:
        run(
            service, host=host, port=port, certificate=None if certificate is None else str(certificate),
            private_key=None if private_key is None else str(private_key), on_ready=ready, log_requests=log_requests,
        )  # fmt: skip
    finally:
        for process in fed:
            process.terminate()
            process.wait()


def read_every(text: str) -> tuple[Any, bool]:
    """Read how often versions are made: give the number, and whether it is of seconds.

    >>> read_every("1000"), read_every("5s"), read_every("each")
    ((1000, False), (5.0, True), ('each', False))
    """
    if text == "each":
        return "each", False
    try:
        if text.endswith("s"):
            return float(text[:-1]), True
        return int(text), False
    except ValueError:
        raise ValueError(
            f"--every must be rows like 1000, seconds like 5s, or each, got {params.shown(text)}"
        ) from None


def read_promote(text: str | None) -> Any:
    """Read the rule by which a shadow takes over."""
    if text is None:
        return None
    from thalweg.serve.contest import Contest

    labels, _, alpha = text.partition(":")
    try:
        return Contest(labels=int(labels), alpha=float(alpha or 0.001))
    except ValueError as error:
        raise ValueError(f"--promote must be like 5000 or 5000:0.001, got {params.shown(text)} ({error})") from None
