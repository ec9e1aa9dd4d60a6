"""Promises of `talktree mcp` and of `/mcp`, kept towards the official Python client.

Run as `python client.py PROGRAM`, with the package `mcp` installed. The client checks every structured result against
the output schema of its tool by itself.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

PROGRAM = sys.argv[1]

# What this language's JSON would spell otherwise: a lone surrogate, big integers, 1.0 and 1e3, an escaped slash.
ODD = (
    '{"role":"user","id":"m1","parts":[{"type":"text","text":"\\ud83d \\/ \\u0000 \u00e9 \u90e8\u7f72"}],'
    '"n":[1.0,1e3,18446744073709551616],"x":{"b":1,"a":2}}'
)


async def done(client, name, **arguments):
    """Calls a tool that has to succeed: its structured content."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, (name, arguments, result)
    assert result.content[0].text, name
    return result.structured_content


async def wrong(client, name, **arguments):
    """Calls a tool that must fail: what it says."""
    result = await client.call_tool(name, arguments)
    assert result.is_error, (name, arguments, result)
    return result.content[0].text


async def conversation(client, place):
    """Everything that a conversation is used for, where `place` says which one it is."""
    appended = await done(client, "append_message", message=ODD, **place)
    assert appended["inserted"] and appended["id"] == "m1", appended
    again = await done(client, "append_message", message=ODD, **place)
    assert not again["inserted"] and not again["conflict"], again
    answer = await done(client, "append_message", text="the first answer", role="assistant", **place)
    await done(client, "append_message", text="the second answer", role="assistant", parentId="m1", **place)
    branches = await done(client, "list_branches", id="m1", **place)
    assert len(branches["messages"]) == 2, branches
    leaf = await done(client, "switch_branch", id=answer["id"], **place)
    assert leaf["leafId"] == answer["id"], leaf
    history = await done(client, "read_history", **place)
    assert history["messages"][0] == ODD, history
    assert json.loads(history["messages"][1])["parts"][0]["text"] == "the first answer", history
    read = await client.call_tool("read_history", dict(place))
    assert "the first answer" in read.content[0].text and "the second" not in read.content[0].text, read
    found = await done(client, "search_messages", query="first answer", **place)
    assert [known["id"] for known in found["results"]] == [answer["id"]], found
    await done(client, "define_block", label="notes", **place)
    await done(client, "write_block", label="notes", content="likes tea", **place)
    assert "likes tea" in (await done(client, "system_prompt", **place))["prompt"]
    assert "unknown-parent" in await wrong(client, "append_message", text="x", parentId="nowhere", **place)
    assert "JSON" in await wrong(client, "append_message", message='{},"tenant":"other"', **place)
    assert "no argument" in await wrong(client, "read_history", leaf="m1", **place)


async def tools(client):
    """The tools by name, each with what a client needs to judge it."""
    found = {tool.name: tool for tool in (await client.list_tools()).tools}
    for tool in found.values():
        assert tool.description and tool.annotations and tool.output_schema, tool
    assert found["read_history"].annotations.read_only_hint is True
    return found


async def on_stdio(root, mode):
    """One agent, confined to its tenant, and one that may use all."""
    confined = StdioServerParameters(command=PROGRAM, args=["mcp", "--root", root, "--tenant", f"a:{mode}"])
    async with Client(confined, mode=mode) as client:
        found = await tools(client)
        assert found["delete_messages"].annotations.destructive_hint is True
        assert "tenant" not in found["read_history"].input_schema["properties"]
        await conversation(client, {})
        assert "no argument" in await wrong(client, "read_history", tenant="other")
    everywhere = StdioServerParameters(command=PROGRAM, args=["mcp", "--root", root, "--read-only"])
    async with Client(everywhere, mode=mode) as client:
        found = await tools(client)
        assert "append_message" not in found and "tenant" in found["read_history"].input_schema["required"]
        listed = await done(client, "list_tenants")
        assert f"a:{mode}" in listed["tenants"], listed
        templates = (await client.list_resource_templates()).resource_templates
        assert any(known.uri_template.startswith("talktree://messages/") for known in templates), templates
        resources = (await client.list_resources()).resources
        assert resources, "conversations are resources"
        text = (await client.read_resource(resources[0].uri)).contents[0].text
        assert "[m1] user: " in text, text
        lines = (await client.read_resource(resources[0].uri.replace("transcript", "messages"))).contents[0].text
        assert lines.split("\n")[0] == ODD, lines
        try:
            await client.read_resource("talktree://transcript/a/b/c/d")
        except MCPError:
            pass
        else:
            raise AssertionError("there is no such resource")


async def over_http(root, mode):
    """Two clients of one server, each with a token of its own."""
    tokens = Path(root) / f"tokens-{mode}.json"
    make = [PROGRAM, "token", "--file", str(tokens)]
    shown = {
        user: subprocess.run(
            [*make, "--name", user, "--prefix", f"{user}:"], check=True, capture_output=True, text=True
        ).stdout.strip()
        for user in ("ann", "bob")
    }
    serve = [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--root", f"{root}/{mode}", "--token-file", str(tokens)]
    server = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().split()[-1]

        def client(user, query=""):
            http = httpx2.AsyncClient(headers={"authorization": f"Bearer {shown[user]}"}, timeout=30)
            return Client(streamable_http_client(f"{address}/mcp{query}", http_client=http), mode=mode)

        async with client("ann") as ann, client("bob") as bob:
            await tools(ann)
            await conversation(ann, {"tenant": "ann:x"})
            assert "forbidden" in await wrong(bob, "read_history", tenant="ann:x")
            assert (await done(bob, "list_tenants"))["tenants"] == []
            many = [done(ann, "append_message", tenant=f"ann:{at}", text="x") for at in range(20)]
            assert all(stored["inserted"] for stored in await asyncio.gather(*many))
        async with client("ann", "?user=ann&conversation=x&session=notes") as confined:
            found = await tools(confined)
            assert not {"tenant", "session"} & set(found["read_history"].input_schema["properties"])
            await conversation(confined, {})
    finally:
        server.terminate()
        assert server.wait(timeout=30) == 0, "it ends in good order"


async def main():
    with tempfile.TemporaryDirectory() as root:
        for mode in ("legacy", "auto"):
            await on_stdio(root, mode)
            await over_http(root, mode)
    print("the Python client of MCP: stdio and HTTP, both lifecycles")


asyncio.run(main())
