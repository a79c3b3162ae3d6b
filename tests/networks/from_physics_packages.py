# SPDX-License-Identifier: Apache-2.0
"""Rows of neuralop, e3nn, torchani, normflows, nflows, torchdiffeq, siren-pytorch, egnn-pytorch, point-transformer-pytorch."""
import torch
from network import Function, Network

FIELD = dict(in_channels=1, out_channels=1, hidden_channels=8)


def grid(size=16, dimensions=2):
    return (torch.randn(1, 1, *[size] * dimensions),)


def rows_of_neuralop():
    import neuralop.models as models
    from neuralop.layers.channel_mlp import ChannelMLP
    from neuralop.losses import H1Loss, LpLoss
    yield from (Network("physics", f"neuralop_{name}", cause, make, tolerance=2e-4) for name, cause, make in (
        ("fno1d", "spectral convolution in one dimension", lambda: (models.FNO((4,), n_layers=2, **FIELD), grid(16, 1))),
        ("fno2d", "products of complex weights with a spectrum", lambda: (models.FNO((4, 4), n_layers=2, **FIELD), grid())),
        ("fno3d", "spectra of three dimensions", lambda: (models.FNO((4, 4, 4), n_layers=1, **FIELD), grid(8, 3))),
        ("fno_norm", "group norm, preactivation", lambda: (models.FNO((4, 4), n_layers=2, norm="group_norm", preactivation=True, **FIELD), grid())),
        ("fno_upsampling", "more points out than in", lambda: (models.FNO((4, 4), n_layers=2, resolution_scaling_factor=2, **FIELD), grid())),
        ("fno_separable", "separable spectral weights", lambda: (models.FNO((4, 4), n_layers=2, separable=True, **FIELD), grid())),
        ("fno_complex", "complex fields", lambda: (models.FNO((4, 4), n_layers=1, complex_data=True, positional_embedding=None, **FIELD), (torch.randn(1, 1, 16, 16, dtype=torch.complex64),))),
        ("tfno", "factorised spectral weights (Tucker)", lambda: (models.TFNO((4, 4), n_layers=2, factorization="tucker", implementation="factorized", rank=0.3, **FIELD), grid())),
        ("tfno_cp", "factorised spectral weights (CP)", lambda: (models.TFNO((4, 4), n_layers=1, factorization="cp", implementation="factorized", rank=0.3, **FIELD), grid())),
        ("uno", "resolutions of a U", lambda: (models.UNO(1, 1, 8, lifting_channels=8, projection_channels=8, n_layers=3, uno_out_channels=[8, 8, 8], uno_n_modes=[[4, 4]] * 3,
                                                          uno_scalings=[[1.0, 1.0], [0.5, 0.5], [2.0, 2.0]], channel_mlp_skip="linear"), grid())),
        ("sfno", "spherical harmonics", lambda: (models.SFNO((4, 4), n_layers=1, **FIELD), (torch.randn(1, 1, 16, 32),))),
        ("codano", "attention over functions", lambda: (models.CODANO(lifting_channels=8, hidden_variable_codimension=4, projection_channels=8, n_layers=2, n_modes=[[4, 4]] * 2, n_heads=[1, 1],
                                                                       per_layer_scaling_factors=[[1, 1]] * 2, attention_scaling_factors=[1, 1]), (torch.randn(1, 2, 16, 16),))),
        ("channel_mlp", "a perceptron over channels", lambda: (ChannelMLP(4, 4, 8), (torch.randn(1, 4, 8, 8),))),
        ("lp_loss", "relative norms", lambda: (Function(lambda a, b: LpLoss(d=2)(a, b)), (torch.randn(2, 1, 16, 16), torch.randn(2, 1, 16, 16)))),
        ("h1_loss", "finite differences", lambda: (Function(lambda a, b: H1Loss(d=2)(a, b)), (torch.randn(2, 1, 16, 16), torch.randn(2, 1, 16, 16))))))


def rows_of_e3nn():
    from e3nn import nn as layers
    from e3nn import o3
    irreps = o3.Irreps("4x0e + 2x1o")
    yield from (Network("physics", f"e3nn_{name}", cause, make) for name, cause, make in (
        ("linear", "maps that commute with rotations", lambda: (o3.Linear(irreps, irreps, _optimize_einsums=False), (torch.randn(3, irreps.dim),))),
        ("tensor_product", "products of irreducible representations", lambda: (o3.FullyConnectedTensorProduct(irreps, "1x0e + 1x1o", irreps), (torch.randn(3, irreps.dim), torch.randn(3, 4)))),
        ("harmonics", "spherical harmonics of vectors", lambda: (o3.SphericalHarmonics([0, 1, 2], True), (torch.randn(5, 3),))),
        ("norm", "norms of representations", lambda: (o3.Norm(irreps), (torch.randn(3, irreps.dim),))),
        ("gate", "scalars that gate vectors", lambda: (layers.Gate("4x0e", [torch.relu], "2x0e", [torch.sigmoid], "2x1o"), (torch.randn(3, 12),))),
        ("batchnorm", "norm of representations", lambda: (layers.BatchNorm(irreps), (torch.randn(3, irreps.dim),))),
        ("perceptron", "normalised activations", lambda: (layers.FullyConnectedNet([4, 16, 4], torch.tanh), (torch.randn(3, 4),)))))


def rows_of_torchani():
    from torchani.aev import AEVComputer
    species, positions = torch.tensor([[0, 1, 1, 0]]), torch.randn(1, 4, 3) * 1.5
    yield Network("physics", "torchani_symmetry", "symmetry functions of atoms", lambda: (Function(lambda x, computer: computer(species, x), computer=AEVComputer.like_1x(num_species=2)), (positions,)))


class Inverse(torch.nn.Module):
    """Density of a sample under a flow."""

    def __init__(self, flow):
        super().__init__()
        self.flow = flow

    def forward(self, x):
        return self.flow.log_prob(x)


def rows_of_flows():
    import nflows.flows
    import nflows.transforms as transforms
    import normflows as nf
    from nflows.distributions.normal import StandardNormal
    base = lambda size=2: nf.distributions.DiagGaussian(size)  # noqa: E731
    table = (
        ("realnvp", "coupling layers", lambda: [part for _ in range(2) for part in (nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 8, 2], init_zeros=False)), nf.flows.Permute(2, mode="swap"))]),
        ("maf", "autoregressive masks", lambda: [nf.flows.MaskedAffineAutoregressive(2, 8)]),
        ("spline", "rational splines: search and gather", lambda: [nf.flows.CoupledRationalQuadraticSpline(2, 1, 8)]),
        ("autoregressive_spline", "splines with masks", lambda: [nf.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8)]),
        ("actnorm", "scaled and mixed channels", lambda: [nf.flows.LULinearPermute(2)]),
        ("residual", "contractive residuals", lambda: [nf.flows.MaskedAffineFlow(torch.tensor([0.0, 1.0]), nf.nets.MLP([2, 8, 2]), nf.nets.MLP([2, 8, 2]))]),
    )
    for name, cause, parts in table:
        yield Network("generative", f"normflows_{name}", cause, lambda parts=parts: (Inverse(nf.NormalizingFlow(base(), parts())), (torch.randn(4, 2),)))
    for name, cause, parts in (
            ("maf", "autoregressive density", lambda: [transforms.MaskedAffineAutoregressiveTransform(3, 8), transforms.ReversePermutation(3)]),
            ("quadratic", "piecewise quadratic", lambda: [transforms.MaskedPiecewiseQuadraticAutoregressiveTransform(3, 8, num_bins=4, tails="linear", tail_bound=3.0)]),
            ("lu", "triangular factors", lambda: [transforms.LULinear(3)]), ("svd", "orthogonal factors", lambda: [transforms.SVDLinear(3, 2)]),
            ("householder", "reflections", lambda: [transforms.HouseholderSequence(3, 2)])):
        yield Network("generative", f"nflows_{name}", cause, lambda parts=parts: (Inverse(nflows.flows.Flow(transforms.CompositeTransform(parts()), StandardNormal([3]))), (torch.randn(4, 3),)))


class Solved(torch.nn.Module):
    """The state of a differential equation after one second, in steps of a given size."""

    def __init__(self, odeint, method):
        super().__init__()
        self.rate = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4))
        self.odeint, self.method = odeint, method

    def forward(self, x):
        return self.odeint(lambda t, y: self.rate(y), x, torch.tensor([0.0, 1.0]), method=self.method, options={"step_size": 0.25})


def rows_of_torchdiffeq():
    from torchdiffeq import odeint
    for method in ("euler", "midpoint", "rk4"):
        yield Network("physics", f"torchdiffeq_{method}", "a differential equation in fixed steps", lambda method=method: (Solved(odeint, method), (torch.randn(3, 4),)))


def rows_of_siren():
    import siren_pytorch as siren
    yield Network("physics", "siren_net", "sines of large arguments", lambda: (siren.SirenNet(2, 16, 3, 3), (torch.rand(20, 2),)), tolerance=2e-4)


def rows_of_points():
    import egnn_pytorch as egnn
    import point_transformer_pytorch as points
    yield Network("physics", "egnn_layer", "distances of all points", lambda: (egnn.EGNN(8), (torch.randn(1, 6, 8), torch.randn(1, 6, 3))))
    yield Network("physics", "egnn_neighbours", "nearest points", lambda: (egnn.EGNN(8, num_nearest_neighbors=3), (torch.randn(1, 6, 8), torch.randn(1, 6, 3))))
    yield Network("3d", "point_transformer_layer", "attention over points", lambda: (points.PointTransformerLayer(dim=8, pos_mlp_hidden_dim=8, attn_mlp_hidden_mult=2), (torch.randn(1, 6, 8), torch.randn(1, 6, 3))))
    yield Network("3d", "point_transformer_neighbours", "attention over nearest points",
                  lambda: (points.PointTransformerLayer(dim=8, pos_mlp_hidden_dim=8, attn_mlp_hidden_mult=2, num_neighbors=3), (torch.randn(1, 6, 8), torch.randn(1, 6, 3))))
