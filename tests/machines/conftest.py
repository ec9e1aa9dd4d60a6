"""Two runners that stand for two machines."""

import pathlib

import pytest

from runner import Runner


@pytest.fixture
def runners(tmp_path: pathlib.Path):
    runners = [Runner(tmp_path / name) for name in ("first", "second")]
    yield runners
    for runner in runners:
        if runner.process.poll() is None:
            runner.stop()
