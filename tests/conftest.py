"""What all tests share: where real data are, and a trained learner to try things on."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True)  # every run tries the same examples ...
settings.register_profile("new")  # ... unless HYPOTHESIS_PROFILE=new looks for others
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# In the background of a shell Ctrl-C is ignored, also by what tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


EXTRAS = ("matplotlib", "pandas", "polars", "sklearn", "river", "starlette", "mkdocs")
LACKING = [name for name in EXTRAS if find_spec(name) is None]
"""Packages of extras that are not installed, as in the environment "bare" of scripts/check_all.py."""


@contextmanager
def _skipping() -> Iterator[None]:
    """Skip a test that needs a package which is not there."""
    try:
        yield
    except ImportError as error:
        if not LACKING:
            raise
        pytest.skip(f"without {', '.join(LACKING)}: {error}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    """Skip where a fixture needs what is not there."""
    with _skipping():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Skip where a test needs what is not there."""
    with _skipping():
        yield


def data_folder() -> Path | None:
    """Find the folder of real streams: the one THALWEG_DATA names, or one beside the repository."""
    named = os.environ.get("THALWEG_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    return folder if folder.is_dir() else None


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Run a command in this process; give exit code, standard output and standard error."""

    def command(*words: object) -> tuple[int, str, str]:
        from thalweg import cli

        monkeypatch.setattr(sys, "argv", ["thalweg", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        if LACKING and "pip install 'thalweg[" in err:
            pytest.skip(err)
        return int(stop.value.code or 0), out, err

    return command


@pytest.fixture
def real_data(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of real streams; the library is pointed at it."""
    folder = data_folder()
    if folder is None:
        pytest.skip("no folder of real streams: set THALWEG_DATA")
    monkeypatch.setenv("THALWEG_DATA", str(folder))
    return folder
