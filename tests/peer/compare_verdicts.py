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
    if record["backend"] and "left" in ours and "left" in official:
        # An op that one side has as one node is several on the other, so what is left counts, too.
        enough = ours["delegated"] >= official["delegated"] or ours["left"] <= official["left"]
        verdicts["at least as much delegated"] = None if enough else "fewer than officially"
    return verdicts
