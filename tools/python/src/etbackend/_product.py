# SPDX-License-Identifier: Apache-2.0
"""The product inside this package: the command-line program, the library, plugins."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from .errors import Error

FOLDER = Path(__file__).resolve().parent


def program_path() -> Path:
    """Path of the command-line program."""
    path = FOLDER / "bin" / "etbackend"
    if not os.access(path, os.X_OK):
        raise Error(
            f"'{path}' is missing or not executable",
            reason="python.installation",
            hint="install the wheel again, with pip",
        )
    return path


def text_of(value: object, what: str) -> str:
    """A text or path that C functions can take."""
    try:
        text = os.fspath(value)  # type: ignore[call-overload]
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise Error(f"{what}: a value of type '{type(value).__name__}', expected a text", reason="python.argument")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Error(f"{what}: {text!r} has no form in UTF-8", reason="python.argument") from None
    if "\0" in text:
        raise Error(f"{what}: {text!r} contains a NUL byte", reason="python.argument")
    return text


def texts_of(values: Iterable[object], what: str) -> list[str]:
    """Like text_of for several; one text alone is an error, since it would become its letters."""
    if isinstance(values, (str, bytes, os.PathLike)):
        raise Error(f"{what}: one text, expected a list of texts", reason="python.argument", hint=f"{what}=[{values!r}]")
    return [text_of(value, what) for value in values]


def folders_of(paths: Iterable[object], what: str) -> list[str]:
    return [os.path.abspath(path) for path in texts_of(paths, what)]
