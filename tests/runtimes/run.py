"""Agent runtimes with Talktree mounted as docs/runtimes.md says, each with a scripted model in the place of a real one.

Run as `python run.py PROGRAM NODE_MODULES RUNTIME...`, where NODE_MODULES holds the packages of those runtimes and Node.js 22.
Each runtime is a program of others, in a home directory of its own. It has to find the server, to offer its tools to the
model, to carry out what the model calls, and to give back what came of it. No key is needed and nothing leaves this machine.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from model import Model, Step

PROGRAM = str(Path(sys.argv[1]).resolve())
MODULES = Path(sys.argv[2]).resolve()
SKILL = Path(__file__).resolve().parents[2] / "docs" / "skills" / "talktree"

# What is asked, and what the model then does.
TASK = "Write down that the deployment window is Friday, then look it up."
SCRIPT: list[Step] = [
    ("append_message", {"text": "The deployment window is Friday.", "role": "assistant"}),
    ("search_messages", {"query": "deployment"}),
]
# Nothing may take longer, a first start that compiles the component included.
SECONDS = 120


class Place:
    """A home directory for one runtime, with a root for Talktree in it."""

    def __init__(self, directory: str, tenant: str) -> None:
        self.home = Path(directory)
        self.work = self.home / "work"
        self.work.mkdir()
        self.tenant = tenant
        self.root = self.home / "data"
        self.server = [PROGRAM, "mcp", "--root", str(self.root), "--tenant", tenant]
        programs = self.home / "bin"
        programs.mkdir()
        (programs / "talktree").symlink_to(PROGRAM)
        # Compiled code may be shared; all else is this runtime's alone.
        cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        (self.home / ".cache").mkdir()
        if (Path(cache) / "talktree").is_dir():
            (self.home / ".cache" / "talktree").symlink_to(Path(cache) / "talktree")
        path = [programs, MODULES / ".bin", *os.environ["PATH"].split(":")]
        self.env = {
            "HOME": str(self.home),
            "PATH": ":".join(map(str, path)),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "NO_COLOR": "1",
            "TALKTREE_ROOT": str(self.root),
        }

    def run(self, *command: str, **env: str) -> str:
        """Runs a program that has to succeed: its standard output."""
        done = subprocess.run(
            command,
            cwd=self.work,
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def write(self, path: str, content: object) -> None:
        """Writes a file below the home directory, as JSON where it is no text."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))

    def check_stored(self) -> None:
        """What the model has written is there, once."""
        told = self.run(PROGRAM, "history", "--root", str(self.root), "--tenant", self.tenant, "--json")
        texts = [json.loads(line)["parts"][0]["text"] for line in told.splitlines()]
        assert texts == ["The deployment window is Friday."], texts


def check_talk(model: Model, said: str) -> None:
    """The model was offered the tools, and its last words, which repeat the result, were shown."""
    shown = f"{said}\nIt was asked {len(model.requests)} times, with the tools {sorted(model.tools())}"
    assert any(name.endswith("append_message") for name in model.tools()), shown
    # In words the match is marked; the exact values have it as it was.
    assert "Done:" in said and "window is Friday" in said, shown


def claude_code(place: Place, model: Model) -> str:
    """MCP on stdio and over HTTP, and the skill."""
    version = place.run("claude", "--version").split()[0]
    place.run("claude", "mcp", "add", "talktree", "--", *place.server)
    assert "Connected" in place.run("claude", "mcp", "list")
    shutil.copytree(SKILL, place.home / ".claude" / "skills" / "talktree")
    said = place.run(
        "claude",
        "--print",
        TASK,
        "--allowedTools",
        "mcp__talktree",
        ANTHROPIC_BASE_URL=model.url,
        ANTHROPIC_API_KEY="none",
        ENABLE_TOOL_SEARCH="false",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
    )
    check_talk(model, said)
    place.check_stored()
    asked = json.dumps(model.requests)
    assert "Talktree is your memory across conversations" in asked, "the model is told when to use it"
    assert "Memory that outlasts this conversation" in asked, "the model is told of the skill"
    with Served(place) as (url, token):
        header = f"Authorization: Bearer {token}"
        place.run("claude", "mcp", "add", "--transport", "http", "shared", f"{url}/mcp", "--header", header)
        listed = place.run("claude", "mcp", "list")
        assert listed.count("Connected") == 2, listed
    return f"Claude Code {version}"


def codex(place: Place, model: Model) -> str:
    """MCP on stdio."""
    version = place.run("codex", "--version").split()[-1]
    place.run("codex", "mcp", "add", "talktree", "--", *place.server)
    listed = json.loads(place.run("codex", "mcp", "list", "--json"))
    assert [server["name"] for server in listed] == ["talktree"], listed
    provider = f'{{name = "scripted", base_url = "{model.url}/v1", wire_api = "responses"}}'
    said = place.run(
        "codex",
        "exec",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        "-c",
        f"model_providers.scripted={provider}",
        "-c",
        'model_provider="scripted"',
        "-m",
        "scripted",
        TASK,
    )
    check_talk(model, said)
    place.check_stored()
    return f"Codex {version}"


def opencode(place: Place, model: Model) -> str:
    """MCP on stdio."""
    version = place.run("opencode", "--version").split()[-1]
    place.write(
        ".config/opencode/opencode.json",
        {
            "mcp": {"talktree": {"type": "local", "command": place.server, "enabled": True}},
            "provider": {
                "scripted": {
                    "npm": "@ai-sdk/openai-compatible",
                    "options": {"baseURL": f"{model.url}/v1", "apiKey": "none"},
                    "models": {"scripted": {"tool_call": True}},
                }
            },
            "model": "scripted/scripted",
            "small_model": "scripted/scripted",
            "permission": "allow",
            "autoupdate": False,
        },
    )
    offline = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}
    listed = place.run("opencode", "mcp", "list", **offline)
    assert "talktree" in listed and "connected" in listed, listed
    said = place.run("opencode", "run", TASK, **offline)
    check_talk(model, said)
    place.check_stored()
    return f"OpenCode {version}"


def goose(place: Place, model: Model) -> str:
    """MCP on stdio, as an extension of its configuration."""
    # Its package names the program after the machine.
    program = str(next(MODULES.glob("@aaif/goose-binary-*/bin/goose")))
    version = place.run(program, "--version").split()[-1]
    lines = [
        "extensions:",
        "  talktree:",
        "    type: stdio",
        "    name: talktree",
        "    description: Memory across conversations",
        "    enabled: true",
        "    timeout: 60",
        f"    cmd: {json.dumps(place.server[0])}",
        f"    args: {json.dumps(place.server[1:])}",
        "GOOSE_PROVIDER: openai",
        "GOOSE_MODEL: scripted",
        "GOOSE_MODE: auto",
        f"OPENAI_HOST: {model.url}",
    ]
    place.write(".config/goose/config.yaml", "\n".join(lines) + "\n")
    said = place.run(
        program,
        "run",
        "--no-session",
        "--text",
        TASK,
        GOOSE_DISABLE_KEYRING="1",
        OPENAI_API_KEY="none",
    )
    check_talk(model, said)
    place.check_stored()
    return f"goose {version}"


def pi(place: Place, model: Model) -> str:
    """No MCP: its own shell, and the skill."""
    version = place.run("pi", "--version").split()[-1]
    shutil.copytree(SKILL, place.home / ".pi" / "agent" / "skills" / "talktree")
    scripted = {
        "baseUrl": f"{model.url}/v1",
        "api": "openai-completions",
        "apiKey": "none",
        "models": [{"id": "scripted", "name": "Scripted", "contextWindow": 100_000, "maxTokens": 4_000}],
    }
    place.write(".pi/agent/models.json", {"providers": {"scripted": scripted}})
    append = f"talktree append --tenant {place.tenant} --role assistant 'The deployment window is Friday.'"
    search = f"talktree search --tenant {place.tenant} deployment"
    model.script = [("bash", {"command": append}), ("bash", {"command": search})]
    said = place.run("pi", "--print", "--provider", "scripted", "--model", "scripted", TASK, PI_OFFLINE="1")
    assert "Done:" in said and "window is Friday" in said, said
    place.check_stored()
    assert "Memory that outlasts this conversation" in json.dumps(model.requests), "the model is told of the skill"
    return f"Pi {version}"


def inspector(place: Place, _model: Model) -> str:
    """The protocol's own inspector, on the command line."""
    package = json.loads((MODULES / "@modelcontextprotocol" / "inspector" / "package.json").read_text())

    def ask(*options: str) -> dict:
        return json.loads(place.run("mcp-inspector", "--cli", *place.server, "--method", *options))

    tools = {tool["name"] for tool in ask("tools/list")["tools"]}
    assert {"append_message", "search_messages", "read_history"} <= tools, tools
    call = ["tools/call", "--tool-name", "append_message", "--tool-arg", "text=The deployment window is Friday."]
    assert ask(*call)["structuredContent"]["inserted"] is True
    assert ask("resources/list")["resources"], "the conversation is a resource"
    assert {prompt["name"] for prompt in ask("prompts/list")["prompts"]} == {"recall", "remember"}
    place.check_stored()
    return f"MCP Inspector {package['version']}"


class Served:
    """`talktree serve` with a token, as long as it is needed."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def __enter__(self) -> tuple[str, str]:
        tokens = str(self.place.home / "tokens.json")
        token = self.place.run(PROGRAM, "token", "--file", tokens, "--name", "agents", "--tenant", "agents").strip()
        serve = [PROGRAM, "serve", "--root", str(self.place.root), "--listen", "127.0.0.1:0", "--token-file", tokens]
        self.server = subprocess.Popen(serve, env=self.place.env, stdout=subprocess.PIPE, text=True)
        return self.server.stdout.readline().split()[-1], token

    def __exit__(self, *_raised: object) -> None:
        self.server.terminate()
        self.server.wait(timeout=SECONDS)


RUNTIMES = {
    "claude-code": claude_code,
    "codex": codex,
    "opencode": opencode,
    "goose": goose,
    "pi": pi,
    "inspector": inspector,
}


def main() -> None:
    """Tries the runtimes that were named, or all."""
    failed = []
    for name in sys.argv[3:] or RUNTIMES:
        with tempfile.TemporaryDirectory(prefix="talktree-", ignore_cleanup_errors=True) as directory:
            model = Model(SCRIPT)
            try:
                print(f"{RUNTIMES[name](Place(directory, name), model)}: mounted, asked and answered", flush=True)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                print(f"{name}: {error}", flush=True)
                failed.append(name)
            finally:
                model.close()
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


main()
