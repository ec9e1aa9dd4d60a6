"""An agent's view of Talktree under Wassette: appends a message and reads the conversation, through MCP.

Run as `python client.py COMPONENTS`, with the package `mcp` installed and `wassette` on the path. COMPONENTS is
Wassette's directory of components, with the policy beside the component.
"""

import asyncio
import json
import sys
from typing import Any

from mcp import Client, StdioServerParameters

STORE = "talktree_sessions_store_0_1_0_"


async def call(client: Client, function: str, **arguments: Any) -> Any:
    """Calls a function of the store: what is in its `ok`."""
    result = await client.call_tool(STORE + function, arguments)
    assert not result.is_error, result
    answer = json.loads(result.content[0].text)
    if "err" in answer:
        # A case of the contract's `variant error`: a kind, and a sentence that says what to do.
        error = answer["err"]
        raise RuntimeError(f"{error['tag']}: {error['val']['message']}")
    return answer["ok"]


async def loaded(client: Client) -> list[str]:
    """The names of the tools, once Wassette has loaded its components, which it does in the background."""
    for _ in range(120):
        names = [tool.name for tool in (await client.list_tools()).tools]
        if names:
            return names
        await asyncio.sleep(0.5)
    raise TimeoutError("Wassette has loaded no component in a minute")


async def main(components: str) -> None:
    # Without the tools of Wassette itself the model cannot load components or widen their permissions.
    arguments = ["run", "--component-dir", components, "--disable-builtin-tools"]
    async with Client(StdioServerParameters(command="wassette", args=arguments)) as client:
        print(len(await loaded(client)), "tools")
        message = {"id": "m2", "role": "assistant", "parts": [{"type": "text", "text": "8080."}]}
        options = {"parent": {"tag": "latest"}, "source": "server", "expected-leaf": {"tag": "any"}}
        text = json.dumps(message)
        appended = await call(client, "append-message", session="s1", message=text, options=options)
        print("inserted" if appended["inserted"] else "there already")
        # Wassette lists what is `option` in the contract as required: null stands for none.
        view = {"leaf-id": None, "newest-first": False, "overlays": True, "media": "inline"}
        for kept in await call(client, "get-history", session="s1", view=view):
            print(kept["role"], json.loads(kept["json"])["parts"][0]["text"])


asyncio.run(main(sys.argv[1]))
