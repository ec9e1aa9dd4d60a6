"""The examples of the documentation, run as they stand, one after the other."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from agents import set_default_openai_key, set_tracing_disabled
from agents.models import openai_provider
from agents.testing import ScriptedModel, assistant_message
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

import talktree
from conftest import say

ROOT = Path(__file__).resolve().parents[3]


def blocks(file: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / file).read_text(), re.MULTILINE | re.DOTALL)


def run(block: str, names: dict[str, Any]) -> None:
    code = compile(block, "example", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = eval(code, names)
    if inspect.isawaitable(result):
        asyncio.run(_wait(result))


async def _wait(result: Any) -> None:
    await result


def a_client() -> Any:
    """Of chat completions."""

    def create(**_: Any) -> Any:
        return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content="Sum."), finish_reason="stop")])

    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))


def test_the_readmes_example_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    [example] = blocks("bindings/python/README.md")
    run(example, {})
    assert capsys.readouterr().out == "user Which port?\nassistant 8443.\n"


@pytest.mark.filterwarnings("ignore::langchain_core._api.deprecation.LangChainDeprecationWarning")
def test_every_example_of_the_page_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    set_default_openai_key("none", use_for_tracing=False)
    set_tracing_disabled(True)
    scripted = ScriptedModel([[assistant_message("8080.")]])
    monkeypatch.setattr(openai_provider.OpenAIProvider, "get_model", lambda *_: scripted)
    with talktree.open("data/easy") as store:
        given: dict[str, Any] = {
            "talktree": talktree,
            "store": store,
            "session": store.session("chat"),
            "message": say("m", "hello"),
            "seen": "nothing",
            "client": a_client(),
            "model": GenericFakeChatModel(messages=iter([AIMessage("8080.")])),
        }
        found = blocks("docs/bindings/python.md")
        assert len(found) > 6
        for block in found:
            names = dict(given)
            run(block, names)
            if names["store"] is not store:
                names["store"].close()
    assert scripted.remaining_steps == 0
