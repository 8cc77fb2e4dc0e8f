"""Servers live as long as the tests of a process; tests of one broker stay together, so that each starts once."""

from collections.abc import Iterator

import pytest

import live_brokers


@pytest.fixture(scope="session", autouse=True)
def servers() -> Iterator[None]:
    yield
    live_brokers.stop_all()
