# SPDX-License-Identifier: Apache-2.0
"""The registry: plugins that are installed, the plugin that a name selects, devices."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from . import _native
from ._product import folders_of, text_of

_SECURE, _ONLY_PATHS = 0x1, 0x10  # ETB_REGISTRY_*


@dataclass(frozen=True)
class Plugin:
    """A plugin that the search found, usable or not. Its code has not run.

    provides: delegate ids, as programs name them. aliases: short names for people.
    tier: part of the search that found it: "application", "environment", "user", "admin", "distribution".
    problem, reason: why it would not load; "" for a usable plugin.
    """

    id: str
    version: str
    vendor: str
    description: str
    manifest_path: str
    library_path: str
    tier: str
    problem: str
    reason: str
    provides: tuple[str, ...]
    aliases: tuple[str, ...]
    can_run: bool
    can_compile: bool
    is_usable: bool


@dataclass(frozen=True)
class Candidate:
    """A plugin that a name could select. reason, text: why it is not used; "" if it could be."""

    id: str
    version: str
    tier: str
    place: str
    is_usable: bool
    reason: str
    text: str


@dataclass(frozen=True)
class Explanation:
    """The plugin that a name selects, and why. winner: its id, or None. nearest: similar names when there is none."""

    name: str
    winner: str | None
    rule: str
    candidates: tuple[Candidate, ...]
    nearest: tuple[str, ...]
    places: tuple[Any, ...]
    data: Mapping[str, Any]  # the whole decision, as `etbackend explain --json` prints it


@dataclass(frozen=True)
class Device:
    """A device of a plugin. Bytes of memory are 0 where unknown."""

    uuid: str
    kind: str
    name: str
    driver_version: str
    memory_total_bytes: int
    memory_free_bytes: int


def plugins(
    paths: Iterable[str | os.PathLike[str]] = (), *, only_paths: bool = False, secure: bool = False
) -> list[Plugin]:
    """Lists all plugins, those of `paths` first. No code of a plugin runs."""
    return [Plugin(**row) for row in _native.plugins(folders_of(paths, "paths"), _flags(only_paths, secure))]


def explain(
    name: str, paths: Iterable[str | os.PathLike[str]] = (), *, only_paths: bool = False, secure: bool = False
) -> Explanation:
    """Explains which plugin an id, a delegate id or an alias selects. No code of a plugin runs."""
    data = json.loads(_native.explain(text_of(name, "name"), folders_of(paths, "paths"), _flags(only_paths, secure)))
    candidates = tuple(
        Candidate(
            row["id"],
            row["version"],
            row["tier"],
            row["place"],
            row["usable"],
            row.get("refusal", {}).get("reason", ""),
            row.get("refusal", {}).get("text", ""),
        )
        for row in data["candidates"]
    )
    return Explanation(
        data["name"], data["winner"], data["rule"], candidates, tuple(data["nearest"]), tuple(data["places"]), data
    )


def devices(
    name: str, paths: Iterable[str | os.PathLike[str]] = (), *, only_paths: bool = False, secure: bool = False
) -> list[Device]:
    """Lists the devices of a plugin. Loads the plugin into this process."""
    rows = _native.devices(text_of(name, "name"), folders_of(paths, "paths"), _flags(only_paths, secure))
    return [Device(**row) for row in rows]


def _flags(only_paths: bool, secure: bool) -> int:
    return (_ONLY_PATHS if only_paths else 0) | (_SECURE if secure else 0)
