# SPDX-License-Identifier: Apache-2.0
"""Compares operators of our XNNPACK plugin with the official delegate's: one program an operator and shape, run on both runtimes.

    python tests/compare/xnnpack/compare_operators.py --build build/release [--pairs 5] [--page docs/xnnpack.md] [--only TEXT]

For what compare_xnnpack.py shows us to lose: the shapes are those of MobileNetV2 in int8 at one thread and of the U-Net at two. A program is the same
layer eight times in a row, as the official exporter lowers it, so that what stands at its borders hardly counts. Both sides run the same file;
times are of one layer in the fastest run of a process, medians over pairs of processes in alternating order, and the ratio is the median of the pairs' own,
ours / official: below 1 we are ahead. --page writes the section "Operator by operator" of a page. Needs what compare_xnnpack.py needs, and torchao.
"""

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "runtime")]
import compare_runtime  # noqa: E402
import compare_xnnpack  # noqa: E402

LAYERS = 8
BEFORE = "## Which XNNPACK\n"
SECTION = """## Operator by operator

The official libraries have a newer XNNPACK. Where whole networks came near it or behind ([performance.md](performance.md#xnnpack)), MobileNetV2 in int8 and the U-Net, these are
their operators alone, each layer eight times in a row as the official exporter lowers it, on both runtimes; a ratio below 1 means that ours is faster.

```sh
python tests/compare/xnnpack/compare_operators.py --build {build} --pairs {pairs} --page docs/xnnpack.md
```

{table}

"""


def cases():
    """(name, threads, quantised?, a layer that keeps its input's shape, that shape)"""
    import torch
    from torch import nn

    class Twice(nn.Module):
        """There and back: two layers of one kind."""

        def __init__(self, there, back):
            super().__init__()
            self.there, self.back = there, back

        def forward(self, x):
            return self.back(self.there(x))

    class AddTwo(nn.Module):
        def forward(self, x):
            return x + x

    class Double(nn.Module):
        """A concatenation along channels and a 1x1 layer back."""

        def __init__(self, c):
            super().__init__()
            self.back = nn.Conv2d(2 * c, c, 1)

        def forward(self, x):
            return self.back(torch.cat([x, x], 1))

    depthwise = lambda c: nn.Sequential(nn.Conv2d(c, c, 3, 1, 1, groups=c), nn.ReLU6())
    wide = lambda c, e: Twice(nn.Sequential(nn.Conv2d(c, e, 1), nn.ReLU6()), nn.Conv2d(e, c, 1))
    square = lambda c: nn.Sequential(nn.Conv2d(c, c, 3, 1, 1), nn.ReLU())
    for c, size in ((32, 112), (144, 56), (192, 28), (384, 14), (576, 14), (960, 7)):
        yield f"int8 depthwise 3x3, {c} channels of {size}x{size}", 1, True, depthwise(c), (1, c, size, size)
    for c, e, size in ((24, 144, 56), (32, 192, 28), (64, 384, 14), (96, 576, 14), (160, 960, 7)):
        yield f"int8 1x1, {c} to {e} and back, {size}x{size}", 1, True, wide(c, e), (1, c, size, size)
    for c, size in ((24, 56), (64, 14)):
        yield f"int8 addition, {c} channels of {size}x{size}", 1, True, AddTwo(), (1, c, size, size)
    for c, size in ((32, 128), (64, 64), (128, 32)):
        yield f"3x3, {c} channels of {size}x{size}", 2, False, square(c), (1, c, size, size)
    yield "concatenation and 1x1, 16 channels of 128x128", 2, False, Double(16), (1, 16, 128, 128)
    yield "2x2 transposed with stride 2 and maxima of 2x2, 64 channels of 64x64", 2, False, Twice(nn.ConvTranspose2d(64, 64, 2, 2), nn.MaxPool2d(2)), (1, 64, 64, 64)
    yield "bilinear by 2 and maxima of 2x2, 64 channels of 64x64", 2, False, Twice(
        nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), nn.MaxPool2d(2)), (1, 64, 64, 64)


def make_program(path, is_quantised, layer, shape):
    import copy

    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    torch.manual_seed(1)
    module = torch.nn.Sequential(*[copy.deepcopy(layer) for _ in range(LAYERS)]).eval()
    inputs = (torch.randn(shape),)
    if is_quantised:
        from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

        quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
        prepared = prepare_pt2e(torch.export.export(module, inputs).module(), quantizer)
        prepared(*inputs)
        module = convert_pt2e(prepared)
    exported = torch.export.export(module, inputs)
    path.write_bytes(to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="folder of our build")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--page")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    subprocess.run(["cmake", "--build", options.build, "--target", "compare_runtime_ours", "etb_plugin_xnnpack"], check=True, stdout=subprocess.DEVNULL)
    lines = ["| operator | threads | ours, us | official, us | ours / official |", "|---|---|---|---|---|"]
    print("\n".join(lines))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        comparison = compare_xnnpack.Comparison(options, folder)
        for what, threads, is_quantised, layer, shape in cases():
            if options.only not in what:
                continue
            program = folder / "operator.pte"
            make_program(program, is_quantised, layer, shape)
            samples = compare_xnnpack.measure_pairs(comparison.command("ours", program, threads), comparison.command("theirs", program, threads), options.pairs)
            ours, theirs = (statistics.median(pair[side]["min_run_us"] for pair in samples) / LAYERS for side in ("ours", "theirs"))
            ratio = statistics.median(pair["ours"]["min_run_us"] / pair["theirs"]["min_run_us"] for pair in samples)
            lines.append(f"| {what} | {threads} | {ours:.3g} | {theirs:.3g} | {ratio:.2f} |")
            print(lines[-1], flush=True)
    if options.page:
        page = Path(options.page)
        text = re.sub(r"^## Operator by operator\n.*?(?=^## )", "", page.read_text(), flags=re.M | re.S)
        if text.count(BEFORE) != 1:
            raise SystemExit(f"{page}: the section stands before {BEFORE.strip()!r}, which is there {text.count(BEFORE)} times, expected once")
        section = SECTION.format(build=options.build, pairs=options.pairs, table="\n".join(lines))
        page.write_text(text.replace(BEFORE, section + BEFORE))


if __name__ == "__main__":
    main()
