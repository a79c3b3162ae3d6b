#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles exported samples with ExecuTorch's own flow, for program_samples --official.

  official_samples.py DIR [--every N] [--ops REGEX]

DIR has the archives of export_samples.py. Every Nth one (default: all) becomes <sample>.pte beside it, by
to_edge(...).to_executorch() with default settings, for portable kernels. DIR/official_refused.tsv has a line for each sample that
this flow cannot compile: sample, reason. Existing files are kept.
"""
import argparse
import re
import signal
import warnings
from pathlib import Path

import torch
from executorch.exir import to_edge

SECONDS_PER_SAMPLE = 60


def on_alarm(*_):
    raise TimeoutError(f"took more than {SECONDS_PER_SAMPLE} s")


def compile_sample(archive, program):
    exported = torch.export.load(archive)
    program.write_bytes(to_edge(exported).to_executorch().buffer)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--ops", default=".*")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, on_alarm)
    archives = [a for a in sorted(options.dir.glob("*/*.pt2")) if re.fullmatch(options.ops, a.parent.name)][:: options.every]
    refused_path = options.dir / "official_refused.tsv"
    refused = {line.split("\t")[0] for line in refused_path.read_text().splitlines()} if refused_path.exists() else set()
    with refused_path.open("a") as refusals:
        for number, archive in enumerate(archives):
            name, program = f"{archive.parent.name}/{archive.stem}", archive.with_suffix(".pte")
            if program.exists() or name in refused:
                continue
            try:
                signal.alarm(SECONDS_PER_SAMPLE)
                compile_sample(archive, program)
            except Exception as error:
                print(name, f"{type(error).__name__}: {error}".splitlines()[0][:300], sep="\t", file=refusals, flush=True)
            finally:
                signal.alarm(0)
            if number % 100 == 99:
                print(f"{number + 1} of {len(archives)} samples", flush=True)


if __name__ == "__main__":
    main()
