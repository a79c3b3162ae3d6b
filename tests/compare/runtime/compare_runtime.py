"""Compares our runtime with the official C++ runtime: same files, same machine, runs in pairs.

    python tests/compare/runtime/compare_runtime.py --ours BUILD/bin/compare_runtime_ours [--plugins DIR] [--models]
                                                    [--pairs 9] [--json FILE] [MODEL.pte ...]

Needs the executorch wheel (its libraries, headers and CMake package), cmake and a C++ compiler; builds the peer in a temporary folder.
Besides the given files it makes some with the official exporter: a chain of 200 additions of one-element tensors (time per
instruction), with --plugins an addition of 8 floats lowered to XNNPACK (overhead of a delegate call), and with --models
MobileNetV2, ResNet-18 and a GPT of 6 layers on portable kernels (models.py), one thread.
Prints a table. Each number is the median over pairs; a ratio is the median of the pairs' own ratios, theirs / ours: above 1 we are ahead.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
METRICS = {"load_us": "load + init, us", "cold_load_us": "the first load, us", "run_us": "one run, us", "peak_rss_kb": "peak memory, KB"}


def build_peer(folder):
    import executorch

    package = Path(list(executorch.__path__)[0])
    build = folder / "peer"
    configure = ["cmake", "-S", HERE / "peer", "-B", build, "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={package}/share/cmake"]
    subprocess.run(list(map(str, configure)), check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", str(build)], check=True, stdout=subprocess.DEVNULL)
    return build / "peer"


def make_small_programs(folder, with_delegate):
    import torch
    from executorch.exir import to_edge, to_edge_transform_and_lower

    class Chain(torch.nn.Module):
        def forward(self, x, y):
            for _ in range(200):
                x = x + y
            return x

    class Add(torch.nn.Module):
        def forward(self, x, y):
            return x + y

    chain = folder / "chain_200.pte"
    one = torch.ones(1)
    chain.write_bytes(to_edge(torch.export.export(Chain(), (one, one))).to_executorch().buffer)
    programs = [chain]
    if with_delegate:
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

        eight = torch.ones(8)
        exported = torch.export.export(Add(), (eight, eight))
        delegated = folder / "xnnpack_add_8.pte"
        delegated.write_bytes(to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer)
        programs.append(delegated)
    return programs


def make_models(folder):
    import torch
    from executorch.exir import to_edge

    sys.path.insert(0, str(HERE))
    import models

    for name, module, example in models.all_models():
        program = folder / f"{name}.pte"
        program.write_bytes(to_edge(torch.export.export(module.eval(), (example,))).to_executorch().buffer)
        yield program


def measure(command):
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(f"{command[0]} {command[1]}: {result.stderr.strip()[-500:]}")
    return json.loads(result.stdout.strip().splitlines()[-1])


def compare(program, ours, peer, options, pairs):
    loads = options.loads if Path(program).stat().st_size < 1 << 20 else 5
    samples = []
    for i in range(pairs):
        mine = [ours, program, loads, options.seconds] + ([options.plugins] if options.plugins else [])
        commands = {"ours": mine, "theirs": [peer, program, loads, options.seconds]}
        order = ["ours", "theirs"] if i % 2 == 0 else ["theirs", "ours"]
        samples.append({side: measure(commands[side]) for side in order})
    row = {"program": Path(program).stem, "pairs": pairs}
    for metric in METRICS:
        row[metric] = {
            "ours": statistics.median(pair["ours"][metric] for pair in samples),
            "theirs": statistics.median(pair["theirs"][metric] for pair in samples),
            "ratio": statistics.median(pair["theirs"][metric] / pair["ours"][metric] for pair in samples),
        }
    return row


def print_row(program, what, ours, theirs, ratio):
    print(f"| {program} | {what} | {ours:.5g} | {theirs:.5g} | {ratio:.3g} |", flush=True)


def print_rows(row):
    for metric, what in METRICS.items():
        value = row[metric]
        print_row(row["program"], what, value["ours"], value["theirs"], value["ratio"])
    if row["program"] == "chain_200":
        value = row["run_us"]
        print_row(row["program"], "one instruction, ns", value["ours"] * 5, value["theirs"] * 5, value["ratio"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--model-pairs", type=int, default=3, help="pairs of what runs for seconds")
    parser.add_argument("--loads", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--plugins", type=lambda text: str(Path(text).resolve()), help="folder of plugins")
    parser.add_argument("--models", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peer = build_peer(folder)
        small = make_small_programs(folder, bool(options.plugins)) + options.programs
        print("| program | what | ours | official | official / ours |\n|---|---|---|---|---|", flush=True)
        rows = []
        for program, pairs in [(p, options.pairs) for p in small] + (
                [(p, options.model_pairs) for p in make_models(folder)] if options.models else []):
            rows.append(compare(program, options.ours, peer, options, pairs))
            print_rows(rows[-1])
    if options.json:
        Path(options.json).write_text(json.dumps({"machine": os.uname().machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
