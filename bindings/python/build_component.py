"""Puts the component into the wheel.

It is taken from ``TALKTREE_COMPONENT`` if that names a file, else from where ``cargo xtask guest`` leaves it, else from
inside the package (an unpacked source distribution).
"""

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

INSIDE = "src/talktree/sessions.wasm"


def find(root: Path) -> Path:
    """Where the component is."""
    named = os.environ.get("TALKTREE_COMPONENT")
    if named:
        places = [Path(named)]
    else:
        target = Path(os.environ.get("CARGO_TARGET_DIR", root / "../../target"))
        places = [target / "talktree/sessions.wasm", root / INSIDE]
    for place in places:
        if place.is_file():
            return place.resolve()
    looked = ", ".join(str(place) for place in places)
    raise FileNotFoundError(f"no component at {looked}: `cargo xtask guest` makes it, TALKTREE_COMPONENT names it")


class ComponentHook(BuildHookInterface):  # type: ignore[type-arg]
    """Includes the component in what is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it builds: names the file and its place."""
        if version == "editable":
            return
        place = INSIDE if self.target_name == "sdist" else "talktree/sessions.wasm"
        build_data["force_include"][str(find(Path(self.root)))] = place
