# SPDX-License-Identifier: Apache-2.0
"""The exception of this package."""

from __future__ import annotations


class Error(Exception):
    """A failure that says what was found, what was expected, and where.

    reason: stable id for programs: of a plugin's problem ("library.digest"), of this package ("python.closed",
        "compile.invalid-input"), or the status ("status.not-found").
    hint: advice for the user, or "".
    code: number of the status (etb/status.h); None when the failure is not the library's.
    """

    def __init__(self, message: str, *, reason: str, hint: str = "", code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.hint = hint
        self.code = code

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:  # exceptions with keywords need it to cross processes
        return (_make, (self.message, self.reason, self.hint, self.code))


def _make(message: str, reason: str, hint: str, code: int | None) -> Error:
    return Error(message, reason=reason, hint=hint, code=code)
