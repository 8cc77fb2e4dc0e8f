"""The live page and the desk in a real browser: they load, live, take answers by keyboard, and ask nobody else."""

import json
import re
import time

import pytest
from running import running, start

from browser import CHROMIUM
from devtools import open_browser
from thalweg import Agrawal, load_dataset
from thalweg.serve import Client
from thalweg.serve.pages import static_files
from thalweg.serve.records import record_of
from thalweg.serve.security import add_token

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
CONNECTED = "document.getElementById('live').textContent === 'Connected'"
WIDE = "[document.documentElement.scrollWidth, window.innerWidth]"


@pytest.fixture(scope="module")
def tabs():
    with open_browser() as tab:
        yield tab


def loans(rule, rows, seed=1):
    """Records with names, and their labels as words."""
    stream = Agrawal(function=rule, seed=seed)
    chunk = stream.read(rows)
    return [record_of(row, stream.schema) for row in chunk.X], ["yes" if y else "no" for y in chunk.y.tolist()]


def assert_clean(tab, address):
    assert tab.errors == []
    assert tab.hosts == {address.partition("://")[2]}, "a request went to another host"
    assert not any("token" in url.lower() for url in tab.urls)


def test_the_files_ask_nobody_else_and_have_no_code_inside_the_pages():
    found = static_files()
    assert {"/", "/desk", "/static/style.css", "/static/page.js", "/static/uplot.js"} <= set(found)
    for path, (data, kind) in found.items():
        text = data.decode()
        if "uplot" not in path and path != "/static/icon.svg":
            assert "http:" not in text.replace("http://www.w3.org/2000/svg", ""), path
            assert "https:" not in text, path
            assert max(map(len, text.splitlines())) <= 120, path
            assert len(text.splitlines()) <= 450, path
        if kind.startswith(b"text/html"):
            assert "style=" not in text
            assert not re.search(r"<[^>]*\son\w+=", text), path
            assert text.count("<script") == text.count("<script src=")


def test_pages_are_served_with_a_strict_policy(tmp_path):
    import http.client

    with running("naive-bayes", "--folder", tmp_path) as (client, _):
        connection = http.client.HTTPConnection(client.address.partition("://")[2], timeout=30)
        for path in static_files():
            connection.request("GET", path)
            answer = connection.getresponse()
            data = answer.read()
            assert (answer.status, data) == (200, static_files()[path][0])
            policy = answer.getheader("content-security-policy")
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
        for path in ("/static/../service.py", "/static/%2e%2e/service.py", "/static/", "/static/none.js", "//desk"):
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 404, path
        connection.close()


@needs_browser
def test_the_page_lives_and_a_drift_appears(tmp_path, tabs):
    words = ("hoeffding-tree", "--folder", tmp_path, "--every", "each", "--shadow", "naive-bayes", "--sync", "never")
    with running(*words, "--window", "300", "--min-accuracy", "0.99") as (client, _):
        tab = tabs()
        tab.size(1280)
        tab.open(client.address + "/")
        tab.wait(CONNECTED)
        tab.wait("document.getElementById('events').innerText.includes('Nothing has happened yet')")
        records, labels = loans(3, 1_500)
        for k in range(0, 1_500, 100):
            given = client.predict(records[k : k + 100])
            client.label(labels[k : k + 100], tickets=given["tickets"])
        tab.wait("document.querySelector('.tile .value').textContent.includes('%')")
        before = tab.text("#tiles")
        client.predict(records[:20])
        tab.wait("document.querySelector('.alarm.accuracy') !== null")
        turned = ["yes" if label == "no" else "no" for label in labels]
        for k in range(0, 1_500, 50):
            given = client.predict(records[k : k + 50])
            client.label(turned[k : k + 50], tickets=given["tickets"])
        tab.wait("document.querySelector('.alarm.drift') !== null")
        tab.wait("document.querySelector('#events .drift') !== null")
        assert tab.text("#tiles") != before
        assert tab.text("#shadows").count("naive-bayes") == 1
        tab.wait("document.querySelectorAll('#confusion tbody tr').length === 2")
        for _ in range(2):  # a curve needs two steps of the history, of ten seconds each
            time.sleep(10.0)
            client.label(turned[:50], tickets=client.predict(records[:50])["tickets"])
        tab.wait("document.querySelector('#c-quality canvas') !== null")
        tab.run("document.querySelector('#c-quality details').open = true")
        tab.wait("document.querySelectorAll('#c-quality td').length > 3")
        assert "drifts: " in tab.run("document.querySelector('#c-quality .plot').getAttribute('aria-label')")
        for ring in ("middle", "coarse"):
            tab.run(f"document.querySelector('input[value={ring}]').click()")
            tab.wait(CONNECTED)
        for width in (1280, 390, 320):
            tab.size(width)
            shown, screen = tab.run(WIDE)
            assert shown <= screen == width
        tab.run("document.querySelector('#shadows button').click()")
        tab.wait("document.getElementById('promote-dialog').open")
        tab.run("document.querySelector('#promote-form .primary').click()")
        tab.wait("document.getElementById('model').textContent === 'naive-bayes'")
        assert client.model()["name"] == "naive-bayes"
        assert_clean(tab, client.address)


@needs_browser
def test_ten_records_by_keyboard_with_an_undo(tmp_path, tabs):
    with running("naive-bayes", "--folder", tmp_path, "--every", "each", "--hold", "3", "--second", "0") as (client, _):
        records, labels = loans(1, 320)
        client.learn(records[20:], labels[20:])  # usual ranges are known from 256 records on
        client.predict(records[:20])
        tab = tabs()
        tab.size(390)
        tab.open(client.address + "/desk")
        tab.wait("!document.getElementById('ask').hidden")
        shown, screen = tab.run(WIDE)
        assert shown <= screen == 390
        assert tab.run("document.querySelectorAll('.field .track').length") > 3, "usual ranges are marked"
        buttons = tab.run("[...document.querySelectorAll('#classes button')].map((b) => b.innerText)")
        keys = {text.split()[1]: text.split()[0] for text in buttons}
        assert set(keys) == {"yes", "no"}
        number = "document.getElementById('record-more').textContent"

        def press(key):
            asked = tab.run(number)
            tab.press(key)
            tab.wait(f"{number} !== {json.dumps(asked)}")

        for k in range(10):
            assert f"no. {k} " in tab.run(number)
            press(keys[labels[k]])
        assert "Labelled" in tab.text("#undo-text")
        press("u")
        assert "no. 9 " in tab.run(number)
        press(keys[labels[9]])
        press("s")
        press("d")
        tab.press("n")
        tab.wait("document.getElementById('new-dialog').open")
        tab.run("document.getElementById('new-name').value = 'maybe'")
        press("Enter")
        until = time.monotonic() + 120.0
        while client.state()["labels"]["answered"] < 11 and time.monotonic() < until:
            time.sleep(0.2)
        found = client.state()
        assert found["labels"]["answered"] == 11
        (name,) = found["experts"]
        assert found["experts"][name] == 11
        who = found["desk"]["experts"][name]
        assert {key: who[key] for key in ("answered", "skipped", "unknown", "undone")} == {
            "answered": 11, "skipped": 1, "unknown": 1, "undone": 1,
        }  # fmt: skip
        assert found["model"]["classes"] == ["yes", "no", "maybe"] or found["model"]["classes"] == [
            "no",
            "yes",
            "maybe",
        ]
        told = dict(zip(found["model"]["classes"], found["confusion"], strict=True))
        assert sum(told["maybe"]) == 1
        assert_clean(tab, client.address)


@needs_browser
def test_two_experts_in_two_browsers_have_different_questions(tmp_path, tabs):
    with running("naive-bayes", "--folder", tmp_path, "--hold", "1", "--second", "0") as (client, _):
        records, labels = loans(1, 32)
        client.learn(records[:20], labels[:20])
        client.predict(records[20:])
        both = [tabs(), tabs()]
        number = "document.getElementById('record-more').textContent.split(' ')[1]"
        for tab in both:
            tab.open(client.address + "/desk")
            tab.wait("!document.getElementById('ask').hidden")
        asked = [tab.run(number) for tab in both]
        assert asked[0] != asked[1]
        both[0].open("about:blank")  # the first leaves; its questions come to the second
        for _ in range(12):
            before = both[1].wait(number)
            both[1].press("1")
            both[1].wait(f"{number} !== {json.dumps(before)} || !document.getElementById('idle').hidden")
        until = time.monotonic() + 120.0
        while client.state()["labels"]["open"] and time.monotonic() < until:
            time.sleep(0.2)
        found = client.state()["labels"]
        assert (found["answered"], found["open"], found["repeated"]) == (12, 0, 0)
        assert both[1].errors == []


@needs_browser
def test_pictures_and_keys_of_digits(tmp_path, tabs):
    stream = load_dataset("digits")
    chunk = stream.read(60)
    schema = tmp_path / "schema.json"
    schema.write_bytes(stream.schema.to_json())
    with running("ckdt", "--folder", tmp_path / "folder", "--schema", schema, "--hold", "0") as (client, _):
        client.learn(chunk.X[:50].tolist(), chunk.y[:50].tolist())
        client.predict(chunk.X[50:].tolist())
        tab = tabs()
        tab.open(client.address + "/desk")
        tab.wait("document.querySelector('canvas.picture') !== null")
        canvas = "document.querySelector('canvas.picture')"
        assert tab.run(f"[{canvas}.width, {canvas}.height]") == [8, 8]
        pixels = tab.run(f"[...{canvas}.getContext('2d').getImageData(0, 0, 8, 8).data]")[::4]
        assert pixels == [round(255 * v / chunk.X[50].max()) for v in chunk.X[50].tolist()]
        tab.press(str(chunk.y[50]))
        until = time.monotonic() + 30.0
        while client.state()["labels"]["answered"] < 1 and time.monotonic() < until:
            time.sleep(0.1)
        confusion = client.state()["confusion"]
        assert sum(confusion[chunk.y[50]]) >= 1
        assert_clean(tab, client.address)


@needs_browser
def test_a_token_is_asked_for_and_sent_in_a_header_alone(tmp_path, tabs):
    tokens = tmp_path / "tokens"
    word, low = add_token(tokens, "ann", "label"), add_token(tokens, "bob", "predict")
    with running("naive-bayes", "--folder", tmp_path / "folder", "--token-file", tokens, token=word) as (client, _):
        tab = tabs()
        tab.open(client.address + "/desk")
        for given in ("nonsense", low, word):
            tab.wait("document.getElementById('token-dialog').open")
            tab.run(f"document.getElementById('token').value = {json.dumps(given)}")
            tab.run("document.querySelector('#token-form .primary').click()")
            time.sleep(0.3)
        tab.wait(CONNECTED)
        assert tab.run("document.getElementById('expert').value") == "ann"
        assert not any(word in url for url in tab.urls)
        assert tab.run("localStorage.length") == 0
        tab.open(client.address + "/")
        tab.wait(CONNECTED)
        assert tab.run("document.querySelectorAll('#shadows button').length") == 0
        assert all("401" in error for error in tab.errors), tab.errors
        assert tab.hosts == {client.address.partition("://")[2]}


@needs_browser
def test_the_page_comes_back_after_a_restart(tmp_path, tabs):
    records, labels = loans(1, 200)
    process, address = start("naive-bayes", "--folder", tmp_path)
    port = address.rpartition(":")[2]
    tab = tabs()
    try:
        with Client(address) as client:
            client.learn(records, labels)
            tab.open(address + "/")
            tab.wait(CONNECTED)
            process.terminate()
            process.wait(30)
            process.stdout.close()
        tab.wait("document.getElementById('live').textContent === 'Reconnecting…'")
        process, _ = start("naive-bayes", "--folder", tmp_path, port=port)
        tab.wait(CONNECTED)
        tab.wait("document.querySelectorAll('#confusion tbody tr').length === 2")
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()
