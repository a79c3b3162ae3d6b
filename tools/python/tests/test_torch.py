# SPDX-License-Identifier: Apache-2.0
"""With PyTorch: exported programs in, tensors in and out, and beside ExecuTorch where it is installed."""

from __future__ import annotations

import collections
import importlib.util
import warnings
from typing import Any

import numpy as np
import pytest
from conftest import DATA, needs_xnnpack, program

import etbackend
from etbackend import Error, Runtime
from etbackend.executorch import EtbackendPartitioner, to_edge_transform_and_lower

torch = pytest.importorskip("torch")


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))

    def forward(self, x: Any) -> Any:
        return torch.softmax(self.net(x), -1)


Point = collections.namedtuple("Point", "x y")


@pytest.fixture(scope="module")
def exported() -> Any:
    return torch.export.export(Model().eval(), (torch.randn(2, 8),))


def test_an_exported_program_is_compiled_and_computes_pytorchs_values(exported: Any) -> None:
    x = torch.randn(2, 8)
    result = etbackend.compile(exported).load().forward(x)
    assert isinstance(result, torch.Tensor)
    torch.testing.assert_close(result, exported.module()(x))


@needs_xnnpack
def test_with_a_plugin_too(exported: Any) -> None:
    x = torch.randn(2, 8)
    made = etbackend.compile(exported, backends=["xnnpack"])
    assert made.report.delegated_nodes > 0
    torch.testing.assert_close(made.load().forward(x), exported.module()(x), rtol=1e-4, atol=1e-5)
    assert any("forward" in node.source for node in made.report.nodes)


def test_frameworks_of_results() -> None:
    method = Runtime.load(program("add")).method()
    x = torch.ones(2, 3)
    for copy in (True, False):
        assert isinstance(method.execute((x, x.numpy()), copy=copy), torch.Tensor)
        assert isinstance(method.execute((x, x), framework="numpy", copy=copy), np.ndarray)
        assert isinstance(method.execute((x.numpy(), x.numpy()), framework="torch", copy=copy), torch.Tensor)
        assert isinstance(method.execute((x.numpy(), x.numpy()), copy=copy), np.ndarray)
    with pytest.raises(Error):
        method.execute((x, x), framework="jax")


def test_pointers_show_that_no_tensor_is_copied() -> None:
    method = etbackend.compile(DATA / "passed.pt2", plan_inputs=False).load().method()
    x = torch.randn(2, 3)
    passed, more = method.execute((x,), copy=False)
    assert passed.data_ptr() == x.data_ptr()
    torch.testing.assert_close(more, x + 1)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.clone().requires_grad_(),
        lambda x: torch.nn.Parameter(x.clone()),
        lambda x: x.t().contiguous().t(),
        lambda x: torch.stack([x, x])[1],
        lambda x: x.expand(2, 3) + 0,
        lambda x: torch.complex(torch.zeros(2, 3), -x).conj().imag,
    ],
)
def test_every_kind_of_host_tensor_is_read_right(change: Any) -> None:
    add = Runtime.load(program("add"))
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    torch.testing.assert_close(add.forward(change(x), x), x + x)


@pytest.mark.parametrize(
    "wrong",
    [
        torch.ones(2, 3, device="meta"),
        torch.ones(2, 3).to_sparse(),
        torch.ones(2, 3, dtype=torch.bfloat16),
        torch.quantize_per_tensor(torch.ones(2, 3), 0.1, 0, torch.qint8),
    ],
)
def test_tensors_without_plain_memory_are_errors(wrong: Any) -> None:
    with pytest.raises(Error, match="input 1"):
        Runtime.load(program("add")).forward(torch.ones(2, 3), wrong)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.uint8, torch.bool])
def test_dtypes_cross(dtype: Any) -> None:
    class Flip(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.flip(0)

    x = torch.tensor([[0, 1], [1, 1], [1, 0]]).to(dtype)
    method = etbackend.compile(torch.export.export(Flip(), (x,))).load().method()
    for copy in (True, False):
        found = method.execute((x,), copy=copy)
        assert found.dtype == dtype and torch.equal(found, x.flip(0))


def test_a_dtype_that_numpy_lacks_names_the_remedy() -> None:
    class Double(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x + x

    x = torch.ones(3, dtype=torch.bfloat16)
    method = etbackend.compile(torch.export.export(Double(), (x,))).load().method()
    if importlib.util.find_spec("ml_dtypes") is None:
        with pytest.raises(Error, match="bfloat16") as caught:
            method.execute((x,), framework="numpy")
        assert caught.value.reason == "python.dtype" and "torch" in caught.value.hint
    assert torch.equal(method(x), x + x)


def test_channels_last_stays_channels_last() -> None:
    convolution = torch.nn.Conv2d(3, 4, 3).eval().to(memory_format=torch.channels_last)
    x = torch.randn(1, 3, 8, 8).to(memory_format=torch.channels_last)
    made = etbackend.compile(torch.export.export(convolution, (x,)))
    expected = convolution(x)
    for given in (x, x.contiguous()):
        for copy in (True, False):
            found = made.load().method().execute((given,), copy=copy)
            torch.testing.assert_close(found, expected)


def test_all_containers_come_back() -> None:
    class Containers(torch.nn.Module):
        def forward(self, pair: Any, named: Any, ordered: Any) -> Any:
            return [pair[0], (pair[1],)], {"n": Point(named.x + 1, named.y)}, collections.OrderedDict(z=ordered["b"] * 2)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.utils._pytree._register_namedtuple(Point, serialized_type_name="test_torch.Point")
    a, b, c, d, e = (torch.full((2,), float(i)) for i in range(5))
    arguments = ((a, b), Point(c, d), collections.OrderedDict(b=e))
    model = Containers()
    runtime = etbackend.compile(torch.export.export(model, arguments)).load()
    found, expected = runtime.forward(*arguments), model(*arguments)
    assert type(found[1]["n"]) is Point and type(found[2]) is collections.OrderedDict
    flat_found, found_spec = torch.utils._pytree.tree_flatten(found)
    flat_expected, expected_spec = torch.utils._pytree.tree_flatten(expected)
    assert found_spec == expected_spec
    for one, other in zip(flat_found, flat_expected):
        torch.testing.assert_close(one, other)


def test_a_model_that_is_not_exported_names_the_remedy() -> None:
    with pytest.raises(Error) as caught:
        etbackend.compile(Model())
    assert "torch.export.export" in caught.value.hint


def test_the_drop_in_beside_executorch(exported: Any) -> None:
    """One program each way, on both run times: four results that agree."""
    if importlib.util.find_spec("executorch") is None:
        pytest.skip("executorch is not installed")
    from executorch import exir, runtime as official
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    from etbackend import executorch as ours

    x = torch.randn(2, 8)
    names = [EtbackendPartitioner("xnnpack")] if ours.Runtime.get().backend_registry.is_available("XnnpackBackend") else []
    there = [XnnpackPartitioner()] if names else []
    buffers = [
        to_edge_transform_and_lower(exported, partitioner=names).to_executorch().buffer,
        exir.to_edge_transform_and_lower(exported, partitioner=there).to_executorch().buffer,
    ]
    for buffer in buffers:
        for api in (official, ours):
            (found,) = api.Runtime.get().load_program(buffer).load_method("forward").execute([x])
            torch.testing.assert_close(found, exported.module()(x), rtol=1e-4, atol=1e-5)
