"""A summarizer in Python: what was asked first, and what was said last, in plain words.

It needs no model and no network. Built with componentize-py and plugged into `sessions.wasm`:

    componentize-py -d wit -d components/wit -w talktree:components/summarizer \
        componentize --python-path components/python summarizer -o python-summarizer.wasm
    wac plug sessions.wasm --plug python-summarizer.wasm -o sessions-python.wasm
"""

import re

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.summarizer import Purpose, SummarizeError_Other, Summary, SummaryRequest

# A message in the prompt is an element named for its role; nothing said in a message can end its element.
MESSAGE = re.compile(r"^<(?P<role>[a-z-]+)(?: [^>]*)?>\n(?P<text>.*?)\n</(?P=role)>$", re.DOTALL | re.MULTILINE)

# In the scripts that take the most, a character is a token.
CHARACTERS_PER_TOKEN = 1


def first_line(text: str, length: int) -> str:
    """The first line that says something, cut to a length."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= length else line[: max(length - 1, 0)] + "…"


def summarize(prompt: str, max_tokens: int, purpose: Purpose) -> str:
    """The summary of the conversation in a prompt, in at most so many tokens."""
    _, _, conversation = prompt.partition("\n<conversation>\n")
    messages = [(found["role"], found["text"]) for found in MESSAGE.finditer(conversation)]
    if not messages:
        raise ValueError("there is no conversation in the prompt")
    room = max_tokens * CHARACTERS_PER_TOKEN
    asked = next((text for role, text in messages if role == "user"), messages[0][1])
    if purpose == Purpose.TITLE:
        return first_line(asked, room)
    earlier = [f"Before: {first_line(text, 400)}" for role, text in messages if role == "earlier-summary"]
    lines = [*earlier, f"Asked first: {first_line(asked, 200)}", f"Said last: {first_line(messages[-1][1], 200)}"]
    return first_line("; ".join(lines), room)


class Summarizer(exports.Summarizer):
    """The interface `talktree:sessions/summarizer`."""

    def summarize(self, request: SummaryRequest) -> Summary:
        """Summarises; whoever asked gets the reason where that cannot be done."""
        try:
            text = summarize(request.prompt, request.max_tokens, request.purpose)
        except ValueError as error:
            raise Err(SummarizeError_Other(str(error))) from error
        return Summary(text=text, truncated=False, input_tokens=None, output_tokens=None)
