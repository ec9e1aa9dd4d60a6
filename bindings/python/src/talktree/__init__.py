"""Durable conversation storage for LLM agents: trees of messages in one sandboxed SQLite file.

>>> import talktree
>>> with talktree.open("data/easy") as store:  # doctest: +SKIP
...     session = store.session("chat")
...     session.append_message({"id": "q1", "role": "user", "parts": [{"type": "text", "text": "Which port?"}]})
...     for message in session.history():
...         print(message.role, message.text)
"""

from . import errors, types
from ._json import MessageInput
from ._session import Session
from ._store import Store, open
from .errors import TalktreeError
from .summarizer import SummarizeError, Summarizer
from .types import ANY, KEEP, LATEST, Message, Summary, SummaryRequest

__all__ = [
    "ANY",
    "KEEP",
    "LATEST",
    "Message",
    "MessageInput",
    "Session",
    "Store",
    "SummarizeError",
    "Summarizer",
    "Summary",
    "SummaryRequest",
    "TalktreeError",
    "errors",
    "open",
    "types",
]
__version__ = "0.1.0"
