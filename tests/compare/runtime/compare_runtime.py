"""Compares our runtime with the official C++ runtime: same files, same machine, runs in pairs.

    python tests/compare/runtime/compare_runtime.py --ours BUILD/bin/compare_runtime_ours [--pairs 9] [--plugins DIR]
                                                    [--json FILE] [MODEL.pte ...]

Needs the executorch wheel (its libraries, headers and CMake package), cmake and a C++ compiler; builds the peer in a
temporary folder. Besides the given files it makes two with the official exporter: a chain of 200 additions of one-element
tensors (time per instruction) and, with --plugins, an addition of 8 floats lowered to XNNPACK (overhead of a delegate call).
Each number is the median over pairs; a ratio is the median of the pairs' own ratios, theirs / ours: above 1 we are ahead.
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
METRICS = ["cold_load_us", "load_us", "run_us", "peak_rss_kb"]


def build_peer(folder):
    import executorch

    package = Path(list(executorch.__path__)[0])
    build = folder / "peer"
    configure = ["cmake", "-S", HERE / "peer", "-B", build, "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={package}/share/cmake"]
    subprocess.run(list(map(str, configure)), check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", str(build)], check=True, stdout=subprocess.DEVNULL)
    return build / "peer"


def make_programs(folder, with_delegate):
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


def measure(command):
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(f"{command[0]} {command[1]}: {result.stderr.strip()[-500:]}")
    return json.loads(result.stdout.strip().splitlines()[-1])


def compare(program, ours, peer, options):
    pairs = []
    for i in range(options.pairs):
        mine = [ours, program, options.loads, options.seconds] + ([options.plugins] if options.plugins else [])
        commands = {"ours": mine, "theirs": [peer, program, options.loads, options.seconds]}
        order = ["ours", "theirs"] if i % 2 == 0 else ["theirs", "ours"]
        pairs.append({side: measure(commands[side]) for side in order})
    row = {"program": Path(program).name, "pairs": options.pairs}
    for metric in METRICS:
        row[metric] = {
            "ours": statistics.median(pair["ours"][metric] for pair in pairs),
            "theirs": statistics.median(pair["theirs"][metric] for pair in pairs),
            "ratio": statistics.median(pair["theirs"][metric] / pair["ours"][metric] for pair in pairs),
        }
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--loads", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--plugins")
    parser.add_argument("--json")
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peer = build_peer(folder)
        programs = make_programs(folder, bool(options.plugins)) + options.programs
        rows = []
        for program in programs:
            row = compare(program, options.ours, peer, options)
            rows.append(row)
            print(row["program"])
            for metric in METRICS:
                value = row[metric]
                print(f"  {metric:14} ours {value['ours']:12.3f}   theirs {value['theirs']:12.3f}   ratio {value['ratio']:6.2f}")
            if row["program"].startswith("chain_200"):
                print(f"  per instruction: ours {row['run_us']['ours'] * 5:.1f} ns, theirs {row['run_us']['theirs'] * 5:.1f} ns")
            sys.stdout.flush()
    if options.json:
        Path(options.json).write_text(json.dumps({"machine": os.uname().machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
