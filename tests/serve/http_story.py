"""The service over HTTP: every endpoint, on a real server process."""

import http.client
import io
import json
import subprocess
import sys
from urllib.parse import urlsplit

import numpy as np
import pytest
from running import running, start

from thalweg import SEA, Agrawal, ArrayStream, Chunk, Schema, load, prequential
from thalweg.registry.typed import make_learner
from thalweg.serve.client import ServiceError

JSON = {"content-type": "application/json"}


def ask(address, method, path, body=None, headers=None):
    """A request as it is, without the client's help."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    data = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
    connection.request(method, path, data, {**(JSON if isinstance(body, (dict, list)) else {}), **(headers or {})})
    answer = connection.getresponse()
    found = answer.status, answer.read(), dict(answer.getheaders())
    connection.close()
    return found


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    with running(
        "hoeffding-tree", "--folder", folder, "--every", "each", "--sync", "never", "--shadow", "naive-bayes"
    ) as found:
        yield found


def test_a_record_its_answer_and_its_label(service):
    client, _ = service
    first = client.predict({"size": 1.5, "colour": "red"}, ids="a")
    assert first["label"] is None
    assert first["wanted"]
    assert client.label(["yes"], tickets=[first["ticket"]])["learned"] == 1
    assert client.label(["yes"], ids=["a"])["repeated"] == ["a"]
    second = client.predict({"size": 1.0, "colour": "blue"})
    assert (second["label"], second["classes"], second["probabilities"]) == ("yes", ["yes"], [1.0])
    many = client.predict([{"size": 2.0, "colour": "red"}, {"size": 9.0, "colour": "green"}], ids=["b", 7])
    assert many["labels"] == ["yes", "yes"]
    assert many["tickets"] == many["wanted"] == [second["ticket"] + 1, second["ticket"] + 2]
    assert many["version"] > second["version"]
    assert client.label(["no", "maybe"], ids=[7, "never seen"]) == {
        "learned": 1, "scored": 1, "repeated": [], "unknown": [], "expired": [], "early": ["never seen"],
    }  # fmt: skip
    assert client.learn([{"size": 3.0, "colour": "red"}], ["no"])["learned"] == 1
    model = client.model()
    assert [feature["name"] for feature in model["schema"]["features"]] == ["size", "colour"]
    assert model["schema"]["features"][1]["values"] == ["red", "blue", "green"]
    assert model["classes"] == ["yes", "no"]


def test_tables_as_columns_arrow_and_csv(service):
    import pyarrow as pa

    client, _ = service
    rows = {"size": [1.0, 2.0], "colour": ["red", "blue"]}
    status, body, _ = ask(client.address, "POST", "/v1/predict", {"columns": rows})
    assert status == 200, body
    expected = json.loads(body)
    table, sink = pa.table(rows), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    kind = {"content-type": "application/vnd.apache.arrow.stream"}
    status, body, headers = ask(client.address, "POST", "/v1/predict", sink.getvalue(), kind)
    assert status == 200, body
    answer = pa.ipc.open_stream(body).read_all()
    assert answer["label"].to_pylist() == expected["labels"]
    assert answer["p(yes)"].to_pylist() == [row[0] for row in expected["probabilities"]]
    assert int(headers["x-version"]) > expected["version"]
    status, body, _ = ask(
        client.address, "POST", "/v1/predict", b"size,colour\n1.0,red\n2.0,blue\n", {"content-type": "text/csv"}
    )
    assert json.loads(body)["probabilities"] == expected["probabilities"]


def test_what_is_looked_at(service):
    client, _ = service
    state = client.state()
    assert state["model"]["class"] == "HoeffdingTree"
    assert state["labels"]["answered"] == 2
    assert [shadow["name"] for shadow in state["shadows"]] == ["naive-bayes"]
    assert len(state["history"]["at"]) >= 1
    assert len(state["confusion"]) == len(state["model"]["classes"])
    questions = client.wanted(n=5, order="uncertain")
    assert questions[0]["record"].keys() == {"size", "colour"}
    status, body, _ = ask(client.address, "GET", "/metrics")
    assert status == 200
    assert b"thalweg_requests_total" in body
    assert b"thalweg_predict_seconds_bucket" in body
    status, body, _ = ask(client.address, "GET", "/openapi.json")
    assert "/v1/predict" in json.loads(body)["paths"]
    assert ask(client.address, "GET", "/healthz")[0] == ask(client.address, "GET", "/readyz")[0] == 200
    assert "no: " in client.explain({"size": 1.0, "colour": "red"})["text"]


def test_events_are_sent(service):
    client, _ = service
    parts = urlsplit(client.address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    connection.request("GET", "/v1/events")
    answer = connection.getresponse()
    assert answer.getheader("content-type") == "text/event-stream"
    client.predict({"size": 1.0, "colour": "red"})
    found = {}
    for _ in range(40):
        line = answer.readline().decode().strip()
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
            found[name] = json.loads(answer.readline().decode().removeprefix("data: "))
        if {"hello", "state", "wanted"} <= found.keys():
            break
    answer.close()
    connection.close()
    assert found["state"]["labels"]["given"] >= 1
    assert found["wanted"]["open"] >= 1


def test_the_model_as_a_file_is_the_model(service, tmp_path):
    client, _ = service
    status, body, _ = ask(client.address, "GET", "/v1/model/file")
    assert status == 200
    (tmp_path / "model").write_bytes(body)
    answer = client.predict({"size": 2.0, "colour": "red"})
    model = load(tmp_path / "model")
    assert list(model.predict_proba_one({"size": 2.0, "colour": "red"}).values()) == answer["probabilities"]


def test_versions_rollback_and_promotion(service):
    client, _ = service
    status, body, _ = ask(client.address, "POST", "/v1/snapshot")
    position = json.loads(body)["position"]
    before = client.predict({"size": 2.0, "colour": "red"})["probabilities"]
    client.learn([{"size": 2.0, "colour": "red"}] * 20, ["other"] * 20)
    assert client.predict({"size": 2.0, "colour": "red"})["probabilities"] != before
    status, body, _ = ask(client.address, "POST", "/v1/model/rollback", {"version": position})
    assert status == 200, body
    assert client.predict({"size": 2.0, "colour": "red"})["probabilities"] == before
    status, body, _ = ask(client.address, "POST", "/v1/model/rollback", {"version": 123_456})
    assert status == 400
    assert "version must be one that is kept" in json.loads(body)["error"]
    status, body, _ = ask(client.address, "POST", "/v1/model/promote", {"name": "naive-bayes", "why": "a try"})
    assert status == 200, body
    assert client.model()["name"] == "naive-bayes"
    assert [event["kind"] for event in client.model()["history"]] == ["rollback", "promotion"]
    ask(client.address, "POST", "/v1/model/promote", {"name": "hoeffding-tree"})


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "text"),
    [
        ("POST", "/v1/predict", b"{", JSON, 400, "JSON"),
        ("POST", "/v1/predict", b"[" * 100_000, JSON, 400, "body"),
        ("POST", "/v1/predict", b'{"record":' * 5_000, JSON, 400, "body"),
        ("POST", "/v1/predict", {"record": {"size": "word", "colour": "red"}}, {}, 400, "number"),
        ("POST", "/v1/predict", {"record": {"size": 1e999, "colour": "red"}}, {}, 400, "JSON"),
        ("POST", "/v1/predict", {"records": [[1.0]]}, {}, 400, "features"),
        ("POST", "/v1/predict", {"records": []}, {}, 400, "empty"),
        ("POST", "/v1/predict", {}, {}, 400, "one of record"),
        ("POST", "/v1/predict", {"records": [{}] * 10_001}, {}, 413, "10,000"),
        ("POST", "/v1/predict", b"x=1", {"content-type": "application/x-www-form-urlencoded"}, 415, "content-type"),
        ("POST", "/v1/predict", b"junk", {"content-type": "application/vnd.apache.arrow.stream"}, 400, "Arrow"),
        ("POST", "/v1/labels", {"labels": [1], "tickets": [1]}, {}, 400, "str"),
        ("POST", "/v1/labels", {"labels": ["a"], "tickets": [0, 1]}, {}, 400, "as many"),
        ("POST", "/v1/labels", {"labels": ["a"]}, {}, 400, "tickets or ids"),
        ("POST", "/v1/learn", {"record": {"size": 1.0, "colour": "red"}}, {}, 400, "labels"),
        ("GET", "/v1/predict", None, {}, 405, "POST"),
        ("GET", "/v1/../../etc/passwd", None, {}, 404, "nothing"),
        ("GET", "/v1/wanted?n=-1", None, {}, 400, "n must be"),
        ("GET", "/v1/state?ring=no", None, {}, 400, "ring must be"),
        ("GET", "/healthz", None, {"host": "evil.example"}, 403, "loopback"),
        ("POST", "/v1/snapshot", None, {"origin": "http://evil.example"}, 403, "origin"),
    ],
)  # fmt: skip
def test_bad_requests_get_a_sentence_and_change_nothing(service, method, path, body, headers, status, text):
    client, _ = service
    before = client.model()
    if isinstance(body, dict) and body.get("record", {}).get("size") == float("inf"):
        body, headers = b'{"record": {"size": 1e999, "colour": "red"}}', JSON
        text = "out of range"
    got, answer, _ = ask(client.address, method, path, body, headers)
    assert got == status, answer
    assert text in json.loads(answer)["error"]
    after = client.model()
    if path != "/v1/labels":
        assert after["position"] == before["position"]
    assert after["learned"] == before["learned"]


def test_a_large_body_is_refused_before_it_is_read(service):
    client, _ = service
    status, _, _ = ask(client.address, "POST", "/v1/predict", b" " * ((16 << 20) + 1), JSON)
    assert status == 413


def rows_for(name, n):
    """Rows and labels; for a learner of tensors these are what it meets."""
    if name != "ckdt":
        return SEA(seed=3).read(n)
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, n)
    return Chunk(rng.normal(size=(n, 6, 5)) + 2.0 * y[:, None, None] * np.eye(6, 5), y)


@pytest.mark.parametrize(
    "name", ["hoeffding-tree", "arf(size=3)", "sdf(size=3)@0.5", "csb-knn(size=3)", "ball-cover-plus", "ckdt"]
)
def test_http_gives_what_prequential_gives(tmp_path, name):
    """The same records and delays: identical answers, and the same model in the file."""
    n, delay = 300, 5
    chunk, learner = rows_for(name, n), make_learner(name)
    stream = ArrayStream(chunk.X, chunk.y)
    result = prequential(stream, learner, delay=delay, keep=True)
    assert len(np.unique(result.predictions.proba, axis=0)) > 3  # it does learn
    (tmp_path / "schema.json").write_bytes(stream.schema.to_json())
    words = [name, "--folder", tmp_path / "s", "--every", "each", "--sync", "never", "--schema",
             tmp_path / "schema.json"]  # fmt: skip
    with running(*words) as (client, _):
        for r in range(n):
            answer = client.predict([chunk.X[r].tolist()], ids=[r])
            mine = dict(zip(answer["classes"], answer["probabilities"][0], strict=True))
            kept = dict(zip(result.predictions.classes, result.predictions.proba[r], strict=True))
            assert all(mine.get(label, 0.0) == p for label, p in kept.items())
            if r >= delay:
                client.label([int(chunk.y[r - delay])], ids=[r - delay])
        _, body, _ = ask(client.address, "GET", "/v1/model/file")
    (tmp_path / "model").write_bytes(body)
    model, expected = load(tmp_path / "model"), learner.model if learner.asks else learner
    assert {n: t.tobytes() for n, t in model.state().items()} == {n: t.tobytes() for n, t in expected.state().items()}


def test_it_goes_on_where_it_stopped(tmp_path):
    chunk = Agrawal(seed=3).read(200)
    schema = Schema.numeric(chunk.X.shape[1])
    (tmp_path / "schema.json").write_bytes(schema.to_json())
    words = ["arf(size=3)", "--folder", tmp_path / "s", "--schema", tmp_path / "schema.json", "--every", "0.1s"]
    with running(*words) as (client, process):
        given = client.predict(chunk.X.tolist())
        client.label(chunk.y[:100].tolist(), tickets=given["tickets"][:100])
        process.kill()
        process.wait()
    with running(*words) as (client, _):
        outcome = client.label(chunk.y.tolist(), tickets=given["tickets"])
        assert outcome["learned"] == 100
        assert outcome["repeated"] == given["tickets"][:100]
        expected = make_learner("arf(size=3)").declare(schema).partial_fit(chunk.X, chunk.y)
        _, body, _ = ask(client.address, "GET", "/v1/model/file")
    (tmp_path / "model").write_bytes(body)
    assert np.array_equal(load(tmp_path / "model").predict_proba(chunk.X), expected.predict_proba(chunk.X))


def test_tokens_and_roles(tmp_path):
    def token(name, role):
        command = [sys.executable, "-m", "thalweg", "token", str(tmp_path / "tokens"), name, "--role", role]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    given = {role: token(f"a {role}", role) for role in ("predict", "label", "admin")}
    assert all(text not in (tmp_path / "tokens").read_text() for text in given.values())
    words = ["naive-bayes", "--folder", tmp_path / "s", "--token-file", tmp_path / "tokens", "--rate", "30"]
    with running(*words, token=given["label"]) as (client, _):
        client.learn([[1.0]], ["a"])
        assert client.predict([[1.0]])["labels"] in ([None], ["a"])
        for text, path, method, status in (
            (None, "/v1/model", "GET", 401), ("wrong", "/v1/model", "GET", 401),
            (given["predict"], "/v1/model", "GET", 200), (given["predict"], "/v1/wanted", "GET", 403),
            (given["label"], "/v1/wanted", "GET", 200), (given["label"], "/v1/model/file", "GET", 403),
            (given["admin"], "/v1/model/file", "GET", 200), (None, "/healthz", "GET", 200),
        ):  # fmt: skip
            headers = {} if text is None else {"authorization": f"Bearer {text}"}
            assert ask(client.address, method, path, None, headers)[0] == status, (path, text)
        codes = [ask(client.address, "GET", "/v1/model", None, {"authorization": f"Bearer {given['predict']}"})[0]
                 for _ in range(100)]  # fmt: skip
        assert 429 in codes
        with pytest.raises(ServiceError, match="403"):
            client._post("/v1/model/promote", {"name": "x"})


def test_another_address_needs_tokens(tmp_path):
    with pytest.raises(RuntimeError, match="host must be a loopback address"):
        start("naive-bayes", "--folder", tmp_path, "--host", "0.0.0.0")
