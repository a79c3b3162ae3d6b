# SPDX-License-Identifier: Apache-2.0
"""Rows of torch_geometric: layers of graphs with given edges, and whole models."""
import torch
from network import TOLERANCE, Network

EDGES = torch.tensor([[0, 1, 1, 2, 3, 4, 5, 6, 7, 0, 2, 5], [1, 0, 2, 1, 4, 3, 6, 5, 0, 7, 6, 1]])

# The largest of some indices, which the exporter does not know.
BOUNDS = {"hypergraph": ("u0=8",), "attentive_fp": ("u0=8",), "median_pool": ("u0=8",)}


class Layers(torch.nn.Module):
    """Two layers; `more` are further arguments of each."""

    def __init__(self, first, second, *more):
        super().__init__()
        self.first, self.second, self.more = first, second, more

    def forward(self, x, edges):
        return self.second(self.first(x, edges, *self.more).relu(), edges, *self.more)


class OneLayer(torch.nn.Module):
    def __init__(self, layer, *order):
        super().__init__()
        self.layer, self.order = layer, order

    def forward(self, *args):
        return self.layer(*args)


def rows_of_torch_geometric():
    import torch_geometric.nn as g

    graph = lambda width=8: (torch.randn(8, width), EDGES)  # noqa: E731
    weight = lambda: (torch.randn(8, 8), EDGES, torch.rand(12))  # noqa: E731
    features = lambda width=4: (torch.randn(8, 8), EDGES, torch.rand(12, width))  # noqa: E731
    dense = lambda *sizes: torch.nn.Sequential(torch.nn.Linear(sizes[0], 16), torch.nn.ReLU(), torch.nn.Linear(16, sizes[1]))  # noqa: E731
    two = lambda make: lambda: (Layers(make(8), make(8)), graph())  # noqa: E731
    kinds = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2])
    layers = (
        ("gcn", "degrees by scatter, powers of them", two(lambda n: g.GCNConv(n, 8))), ("sage", "means of neighbours", two(lambda n: g.SAGEConv(n, 8))),
        ("sage_max", "maxima of neighbours", two(lambda n: g.SAGEConv(n, 8, aggr="max"))), ("gat", "softmax over the edges of a node", two(lambda n: g.GATConv(n, 4, heads=2))),
        ("gatv2", "attention after the activation", two(lambda n: g.GATv2Conv(n, 4, heads=2))), ("gin", "sums into a perceptron", two(lambda n: g.GINConv(dense(n, 8)))),
        ("graph", "two weights", two(lambda n: g.GraphConv(n, 8))), ("cheb", "Chebyshev polynomials of the Laplacian", two(lambda n: g.ChebConv(n, 8, K=3))),
        ("sg", "several hops", two(lambda n: g.SGConv(n, 8, K=2))), ("tag", "powers of the adjacency", two(lambda n: g.TAGConv(n, 8, K=2))),
        ("arma", "recursive filters", two(lambda n: g.ARMAConv(n, 8))), ("transformer", "attention of dot products", two(lambda n: g.TransformerConv(n, 4, heads=2))),
        ("gated", "GRU over messages", two(lambda n: g.GatedGraphConv(8, 2))), ("resgated", "gates of edges", two(lambda n: g.ResGatedGraphConv(n, 8))),
        ("edge", "differences of ends", lambda: (Layers(g.EdgeConv(dense(16, 8)), g.EdgeConv(dense(16, 8))), graph())),
        ("feast", "mixtures of weights", two(lambda n: g.FeaStConv(n, 8, heads=2))), ("le", "local extrema", two(lambda n: g.LEConv(n, 8))),
        ("cluster", "diagonal enhancement", two(lambda n: g.ClusterGCNConv(n, 8))), ("gen", "softmax aggregation", two(lambda n: g.GENConv(n, 8))),
        ("pna", "four aggregations, three scalers", lambda: (Layers(*(g.PNAConv(8, 8, ["mean", "min", "max", "std"], ["identity", "amplification", "attenuation"],
                                                                              torch.tensor([0, 2, 3, 2, 1])) for _ in range(2))), graph())),
        ("film", "feature-wise modulation", two(lambda n: g.FiLMConv(n, 8))), ("supergat", "attention with a second loss", two(lambda n: g.SuperGATConv(n, 4, heads=2))),
        ("eg", "efficient mixtures of aggregations", two(lambda n: g.EGConv(n, 8, num_heads=2))), ("mixhop", "concatenated powers", lambda: (g.MixHopConv(8, 4), graph())),
        ("general", "a general layer", two(lambda n: g.GeneralConv(n, 8))), ("mf", "weights by degree", two(lambda n: g.MFConv(n, 8, max_degree=4))),
        ("antisymmetric", "steps of a differential equation", lambda: (g.AntiSymmetricConv(8, num_iters=2), graph())),
        ("fa", "attention of both signs", lambda: (OneLayer(g.FAConv(8)), (torch.randn(8, 8), torch.randn(8, 8), EDGES))),
        ("gcn2", "initial residual", lambda: (OneLayer(g.GCN2Conv(8, 0.1)), (torch.randn(8, 8), torch.randn(8, 8), EDGES))),
        ("cg", "crystal graphs", lambda: (g.CGConv(8, 4), features())), ("gine", "features of edges", lambda: (g.GINEConv(dense(8, 8), edge_dim=4), features())),
        ("nn", "weights from features of edges", lambda: (g.NNConv(8, 8, dense(4, 64)), features())), ("gmm", "Gaussian mixtures", lambda: (g.GMMConv(8, 8, 2, 3), features(2))),
        ("gcn_weighted", "weights of edges", lambda: (g.GCNConv(8, 8), weight())),
        ("rgcn", "relations of edges", lambda: (OneLayer(g.RGCNConv(8, 8, 3)), (torch.randn(8, 8), EDGES, kinds))),
        ("fast_rgcn", "products for each edge", lambda: (OneLayer(g.FastRGCNConv(8, 8, 3)), (torch.randn(8, 8), EDGES, kinds))),
        ("hypergraph", "edges of many nodes", lambda: (g.HypergraphConv(8, 8), graph())),
        ("gps", "messages and attention", lambda: (g.GPSConv(8, g.GCNConv(8, 8), heads=2), graph())),
        ("pointnet", "positions of points", lambda: (g.PointNetConv(dense(11, 8), dense(8, 8)), (torch.randn(8, 8), torch.randn(8, 3), EDGES))),
        ("point_transformer", "attention by positions", lambda: (g.PointTransformerConv(8, 8), (torch.randn(8, 8), torch.randn(8, 3), EDGES))),
        ("ppf", "angles between normals", lambda: (g.PPFConv(dense(12, 8), dense(8, 8)), (torch.randn(8, 8), torch.randn(8, 3), torch.randn(8, 3), EDGES))),
        ("dense_gcn", "adjacency as a matrix", lambda: (g.DenseGCNConv(8, 8), (torch.randn(2, 6, 8), torch.rand(2, 6, 6)))),
        ("dense_gat", "attention over a matrix", lambda: (g.DenseGATConv(8, 8), (torch.randn(2, 6, 8), torch.rand(2, 6, 6).round()))),
    )
    for name, cause, make in layers:
        # The deviation of equal values is the root of a rounding error.
        yield Network("graph", f"geometric_{name}", cause, make, tolerance=1e-2 if name == "pna" else TOLERANCE, bounds=BOUNDS.get(name, ()))
    models = (
        ("gcn_model", "layers with norms and jumping knowledge", lambda: (g.models.GCN(8, 16, 3, 4, norm="batch", jk="cat"), graph())),
        ("gat_model", "LSTM over layers", lambda: (g.models.GAT(8, 16, 2, 4, jk="lstm"), graph())),
        ("deepgcn", "residual layers", lambda: (g.models.DeepGCNLayer(g.GENConv(8, 8), g.LayerNorm(8), torch.nn.ReLU()), graph())),
        ("attentive_fp", "fingerprints of molecules", lambda: (Molecule(g.models.AttentiveFP(8, 8, 2, 4, 2, 2)), (torch.randn(8, 8), torch.rand(12, 4)))),
        ("graph_unet", "top nodes kept", lambda: (g.models.GraphUNet(8, 8, 4, 1, pool_ratios=0.5), graph())),
        ("node2vec", "embedding of nodes", lambda: (OneLayer(g.models.LINKX(8, 8, 8, 4, 2)), graph())),
        ("set_transformer", "attention over sets", lambda: (Pooled(g.aggr.SetTransformerAggregation(8, heads=2)), (torch.randn(8, 8),))),
        ("sort_pool", "sorted nodes", lambda: (Pooled(g.aggr.SortAggregation(3)), (torch.randn(8, 8),))),
        ("set2set", "LSTM over a set", lambda: (Pooled(g.aggr.Set2Set(8, 2)), (torch.randn(8, 8),))),
        ("median_pool", "median of a set", lambda: (Pooled(g.aggr.MedianAggregation()), (torch.randn(8, 8),))),
        ("dense_pool", "clusters of nodes", lambda: (DensePool(g), (torch.randn(2, 6, 8), torch.rand(2, 6, 6)))),
        ("lightgcn", "propagated embeddings", lambda: (g.models.LightGCN(8, 4, 2), (EDGES,))),
    )
    for name, cause, make in models:
        yield Network("recommender" if name == "lightgcn" else "graph", f"geometric_{name}", cause, make, bounds=BOUNDS.get(name, ()))


class Molecule(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.register_buffer("batch", torch.tensor([0, 0, 0, 0, 1, 1, 1, 1]))

    def forward(self, x, features):
        return self.model(x, EDGES, features, self.batch)


class Pooled(torch.nn.Module):
    def __init__(self, aggregation):
        super().__init__()
        self.aggregation = aggregation
        self.register_buffer("index", torch.tensor([0, 0, 0, 0, 1, 1, 1, 1]))

    def forward(self, x):
        return self.aggregation(x, self.index, dim_size=2)


class DensePool(torch.nn.Module):
    def __init__(self, g):
        super().__init__()
        self.assign, self.pool = torch.nn.Linear(8, 3), g.dense_diff_pool

    def forward(self, x, adjacency):
        return self.pool(x, adjacency, self.assign(x))
