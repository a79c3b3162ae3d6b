# SPDX-License-Identifier: Apache-2.0
"""What must be true of a record that compare_compiled.py makes; in a file of its own for scripts that only read records."""


def judge(record):
    """What must be true of a record, by kind: None, or the fault. What the official side cannot do is no fault of ours."""
    ours, official = record["ours"], record.get("official", {})
    verdicts = {"compiled": ours["compiled"]}
    for place, kind in (("here", "here"), ("there", "on the official runtime")):
        if place in ours:
            verdicts[kind] = ours[place]
    if "here" in official and official.get("there") is None:
        verdicts["the official program here"] = official["here"]
    if "source_left" in ours and "source_left" in official:
        # Counts nodes of the exported program, which are the same for both.
        fewer = ours["source_left"] <= official["source_left"]
        verdicts["at least as much delegated"] = None if fewer else f"{ours['source_left']} nodes left, officially {official['source_left']}"
    elif record["backend"] and "left" in ours and "left" in official:
        enough = ours["delegated"] >= official["delegated"] or ours["left"] <= official["left"]
        verdicts["at least as much delegated"] = None if enough else "fewer than officially"
    return verdicts
