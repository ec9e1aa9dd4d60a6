"""Each summarizer, plugged into `sessions.wasm`, compacts a conversation."""

import tempfile
import unittest
from pathlib import Path

from hosts import COMPONENTS, Model, invoke, message, quoted

CONVERSATION = [
    message(f"m{number}", ["user", "assistant"][number % 2], f"Sentence {number} is about port {8000 + number}. " * 20)
    for number in range(12)
]
APPEND = (
    f'append-messages("s", [{", ".join(map(quoted, CONVERSATION))}], '
    "{parent: latest, source: server, expected-leaf: any})"
)
KEEP = "compact-after: keep, protect-head: value(1), min-tail: value(2), max-prompt-tokens: keep, token-factor: keep"
CONFIGURE = (
    f'configure(session("s"), {{{KEEP}, keep-recent-tokens: value(300), auto-compact: keep, reserved-metadata-keys: keep}})'
)
COMPACT = 'compact("s", none)'
MODEL = {"SUMMARIZER_MODEL": "small", "SUMMARIZER_KEY": "key-1"}


def compacted(component: str, variables: dict[str, str] | None = None) -> str:
    """What `compact` answers for the conversation in a new store, and what is read afterwards."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        for call in (APPEND, CONFIGURE):
            answer = invoke(component, place, call)
            assert answer.startswith("ok("), answer
        answer = invoke(component, place, COMPACT, variables)
        if answer.startswith("ok("):
            history = invoke(component, place, 'get-history("s", {newest-first: false, overlays: true, media: inline})')
            assert '"compaction_' in history, history
        return answer


class Summarizers(unittest.TestCase):
    """One promise each, for those that are there."""

    def there(self, component: str) -> str:
        """The component's name, unless it was not built for this run."""
        if not (COMPONENTS / component).exists():
            self.skipTest(f"{component} was not built")
        return component

    def test_the_extractive_summarizer_needs_nothing(self) -> None:
        answer = compacted(self.there("sessions-standalone.wasm"))
        self.assertIn("## Topic", answer)
        self.assertIn("port 80", answer)

    def test_a_summarizer_in_python_needs_nothing(self) -> None:
        self.assertIn("Asked first: Sentence", compacted(self.there("sessions-python.wasm")))

    def test_without_a_server_in_the_environment_nothing_is_compacted(self) -> None:
        answer = compacted(self.there("sessions-chat-completions.wasm"))
        self.assertIn("err(summarizer-failed", answer)
        self.assertIn("SUMMARIZER_URL", answer)

    def check_server(self, component: str) -> None:
        """The server is asked with model, key and conversation, and its text is the summary; what it refuses is told."""
        with Model("They spoke about ports.") as model:
            answer = compacted(self.there(component), {"SUMMARIZER_URL": model.url, **MODEL})
            self.assertIn('summary: "They spoke about ports."', answer)
            self.assertIn("input-tokens: some(70)", answer)
            self.assertIn("output-tokens: some(7)", answer)
            asked = model.asked[0]
            self.assertEqual(asked["path"], "/v1/chat/completions")
            self.assertEqual((asked["model"], asked["authorization"]), ("small", "Bearer key-1"))
            self.assertIn("Sentence 3 is about port 8003.", asked["messages"][0]["content"])
        with Model("", status=429) as model:
            answer = compacted(component, {"SUMMARIZER_URL": model.url, **MODEL})
            self.assertIn("err(summarizer-failed", answer)
            self.assertIn("429", answer)

    def test_a_summarizer_in_rust_asks_a_server(self) -> None:
        self.check_server("sessions-chat-completions.wasm")

    def test_a_summarizer_in_javascript_asks_a_server(self) -> None:
        self.check_server("sessions-javascript.wasm")


if __name__ == "__main__":
    unittest.main()
