from __future__ import annotations

import importlib.util
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest

import talktree

PACKAGE = Path(__file__).resolve().parents[1]


@pytest.fixture
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_component", PACKAGE / "build_component.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_wheel_is_built_without_a_component(
    hook: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TALKTREE_COMPONENT", str(tmp_path / "nowhere.wasm"))
    with pytest.raises(FileNotFoundError, match="cargo xtask guest"):
        hook.find(PACKAGE)


def test_what_is_installed_has_the_component_the_types_and_the_licences() -> None:
    files = {file.name: file for file in metadata.files("talktree") or []}
    assert {"sessions.wasm", "py.typed", "LICENSE-MIT", "LICENSE-APACHE"} <= set(files)
    assert metadata.version("talktree") == talktree.__version__
