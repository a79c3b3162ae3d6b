# SPDX-License-Identifier: Apache-2.0
"""Statistics that ExecuTorch's VGF backend writes into a profile, as metadata of its delegate events."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from typing import Any

from .errors import Error

_SCHEMA, _VERSION = "executorch.vgf.neural_statistics", 1
_BLOBS = ("debug_database", "statistics_info", "statistics_memory")


def statistics_of(metadata: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yields the records of VGF among an event's metadata. Each blob of a segment gets its bytes as "raw_data"."""
    for text in metadata:
        try:
            record = json.loads(text)
        except ValueError as cause:
            if _SCHEMA in text:
                raise _wrong("a record that is no JSON") from cause
            continue  # of another backend
        if not isinstance(record, dict) or record.get("schema") != _SCHEMA:
            continue
        if record.get("schema_version") != _VERSION:
            raise _wrong(f"schema version {record.get('schema_version')}, expected {_VERSION}")
        segments = record.get("segments", [])
        if not isinstance(segments, list) or not all(isinstance(segment, dict) for segment in segments):
            raise _wrong("segments that are no list of objects")
        yield {**record, "segments": [_decoded(segment) for segment in segments]}


def _decoded(segment: dict[str, Any]) -> dict[str, Any]:
    blobs = {name: segment[name] for name in _BLOBS if isinstance(segment.get(name), dict)}
    return {**segment, **{name: {**blob, "raw_data": _bytes_of(name, blob)} for name, blob in blobs.items()}}


def _bytes_of(name: str, blob: dict[str, Any]) -> bytes:
    if not blob.get("available", False):
        return b""
    if blob.get("encoding") != "base64":
        raise _wrong(f"{name} in encoding {blob.get('encoding')!r}, expected 'base64'")
    try:
        return base64.b64decode(blob.get("data", ""), validate=True)
    except (ValueError, TypeError) as cause:
        raise _wrong(f"{name} whose data is not base64") from cause


def _wrong(what: str) -> Error:
    return Error(f"statistics of VGF: {what}", reason="python.value")
