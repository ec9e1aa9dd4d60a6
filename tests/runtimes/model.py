"""A model that plays a script, spoken to as agent runtimes speak to theirs, on this machine and without a key.

It has the endpoints of Anthropic's messages, of OpenAI's chat completions and of OpenAI's responses, streamed or not. With
each request it looks how many results of tools the conversation holds already, and takes the step of the script with that
number: a call of the tool whose name ends so, and at the end a sentence that repeats the last result.
"""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Step = tuple[str, dict[str, object]]


class Model:
    """A scripted model that listens on a port of its own."""

    def __init__(self, script: list[Step]) -> None:
        self.script = script
        # What it was asked with: for a test that fails, and for what a runtime tells its model.
        self.requests: list[dict[str, object]] = []
        model = self

        class Handler(_Handler):
            answers = model

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """Stops listening."""
        self._server.shutdown()
        self._server.server_close()

    def tools(self) -> set[str]:
        """The names of all tools that it was offered."""
        return {name for request in self.requests for name in _names(request)}

    def next(self, request: dict[str, object]) -> tuple[str, dict[str, object]] | str:
        """The call of a tool that comes next, or what it says at the end."""
        self.requests.append(request)
        results = list(_results(request))
        names = _names(request)
        # What a runtime asks beside the conversation (a title, say) has no tools.
        if not names:
            return "A conversation"
        if len(results) < len(self.script):
            suffix, arguments = self.script[len(results)]
            name = next((name for name in names if name.endswith(suffix)), None)
            return (name, arguments) if name else f"There is no tool {suffix} among {sorted(names)}"
        return f"Done: {results[-1]}"


def _names(request: dict) -> list[str]:
    """The tools that a request offers, in whichever protocol. Those of a name space have its name before theirs."""
    names = []
    for tool in request.get("tools") or []:
        if tool.get("type") == "namespace":
            names += [f"{tool['name']}/{inner['name']}" for inner in tool.get("tools", [])]
        else:
            names.append((tool.get("function") or tool).get("name") or tool.get("type"))
    return names


def _results(request: dict):
    """The results of tools that the conversation holds, as texts, in whichever protocol."""
    for item in request.get("messages") or request.get("input") or []:
        if not isinstance(item, dict):
            continue
        if item.get("role") == "tool":
            yield _text(item["content"])
        elif item.get("type") == "function_call_output":
            yield _text(item["output"])
        elif isinstance(item.get("content"), list):
            for block in item["content"]:
                if isinstance(block, dict) and block.get("type") == "tool_result":
                    yield _text(block.get("content", ""))


def _text(content) -> str:
    """The text of a content that is one, or a list of blocks."""
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") if isinstance(block, dict) else str(block) for block in content)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answers: Model

    def log_message(self, *_args) -> None:
        """It is silent: what it was asked is kept."""

    def do_HEAD(self) -> None:
        """It is there."""
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        """The list of models."""
        model = {"id": "scripted", "slug": "scripted", "object": "model", "type": "model", "display_name": "Scripted"}
        self._json({"object": "list", "data": [model], "models": [], "has_more": False})

    def do_POST(self) -> None:
        """The next step of the script."""
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        request = json.loads(body or b"{}")
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens"):
            self._json({"input_tokens": 10})
        elif path.endswith("/messages"):
            self._answer(request, _messages)
        elif path.endswith("/chat/completions"):
            self._answer(request, _completions)
        elif path.endswith("/responses"):
            self._answer(request, _responses)
        else:
            self._json({"error": {"message": f"there is nothing at {path}"}}, 404)

    def _answer(self, request: dict, protocol) -> None:
        whole, events = protocol(self.answers.next(request), request.get("model", "scripted"))
        if not request.get("stream"):
            self._json(whole)
            return
        lines = b"".join(_event(name, data) for name, data in events)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(lines)))
        self.end_headers()
        self.wfile.write(lines)

    def _json(self, value: object, status: int = 200) -> None:
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def _event(name: str | None, data) -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


def _messages(step, model: str):
    """As Anthropic's messages."""
    if isinstance(step, str):
        block, empty, delta, reason = (
            {"type": "text", "text": step},
            {"type": "text", "text": ""},
            {"type": "text_delta", "text": step},
            "end_turn",
        )
    else:
        name, arguments = step
        block = {"type": "tool_use", "id": f"toolu_{time.monotonic_ns()}", "name": name, "input": arguments}
        empty = {**block, "input": {}}
        delta, reason = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}, "tool_use"
    usage = {"input_tokens": 10, "output_tokens": 10}
    message = {
        "id": f"msg_{time.monotonic_ns()}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [block],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": usage,
    }
    begun = {**message, "content": [], "stop_reason": None}
    events = [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return message, [(event["type"], event) for event in events]


def _completions(step, model: str):
    """As OpenAI's chat completions."""
    if isinstance(step, str):
        message, reason = {"role": "assistant", "content": step}, "stop"
        delta = message
    else:
        name, arguments = step
        call = {
            "id": f"call_{time.monotonic_ns()}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        message, reason = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
        delta = {"role": "assistant", "tool_calls": [{"index": 0, **call}]}
    head = {"id": f"chatcmpl-{time.monotonic_ns()}", "created": int(time.time()), "model": model}
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
    chunk = {**head, "object": "chat.completion.chunk"}
    events = [
        {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
        {**chunk, "choices": [], "usage": usage},
        "[DONE]",
    ]
    return whole, [(None, event) for event in events]


def _responses(step, model: str):
    """As OpenAI's responses."""
    number = time.monotonic_ns()
    if isinstance(step, str):
        content = [{"type": "output_text", "text": step, "annotations": []}]
        item = {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed", "content": content}
    else:
        name, arguments = step
        space, _, inner = name.rpartition("/")
        item = {
            "id": f"fc_{number}",
            "type": "function_call",
            "status": "completed",
            "call_id": f"call_{number}",
            "name": inner,
            "arguments": json.dumps(arguments),
        }
        if space:
            item["namespace"] = space
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 20,
    }
    whole = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "completed",
        "model": model,
        "output": [item],
        "usage": usage,
    }
    events = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    return whole, [(event["type"], event) for event in events]
