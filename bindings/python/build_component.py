"""Puts the component and the licences into what is built.

It is taken from ``TALKTREE_COMPONENT`` if that names a file, else from where ``cargo xtask guest`` leaves it, else from
inside the package (an unpacked source distribution).
"""

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

INSIDE = "src/talktree/sessions.wasm"
LICENCES = ("LICENSE-APACHE", "LICENSE-MIT")


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


def licences(root: Path) -> list[Path]:
    """The texts of the licences: of the repository, or of an unpacked source distribution."""
    places = [root.parent.parent, root]
    return [place / name for name in LICENCES for place in places if (place / name).is_file()][: len(LICENCES)]


class ComponentHook(BuildHookInterface):  # type: ignore[type-arg]
    """Includes them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it builds: names the file and its place."""
        if version == "editable":
            return
        is_source = self.target_name == "sdist"
        root = Path(self.root)
        build_data["force_include"][str(find(root))] = INSIDE if is_source else "talktree/sessions.wasm"
        for text in licences(root):
            build_data["force_include"][str(text)] = text.name if is_source else f"talktree/{text.name}"
