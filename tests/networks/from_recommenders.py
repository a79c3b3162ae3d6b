# SPDX-License-Identifier: Apache-2.0
"""Rows of torch-rechub, rtdl, tabm and pytorch-tabnet: click rates, matching, tables."""
import torch
from network import Network

PERCEPTRON = {"dims": [16, 8]}


class Features(torch.nn.Module):
    """A model that reads a dict of features, with positional inputs."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names
        for table in model.modules():
            if isinstance(table, torch.nn.Embedding):  # the package begins with values of 1e-4
                torch.nn.init.normal_(table.weight, std=0.3)

    def forward(self, *args):
        return self.model(dict(zip(self.names, args)))


def rows_of_torch_rechub():
    import torch_rechub.models.matching as matching
    import torch_rechub.models.multi_task as multi_task
    import torch_rechub.models.ranking as ranking
    from torch_rechub.basic.features import DenseFeature, SequenceFeature, SparseFeature

    sparse = [SparseFeature(name, vocab_size=20, embed_dim=8) for name in ("user", "item", "shop")]
    dense = [DenseFeature(name) for name in ("price", "age")]
    history = [SequenceFeature("history", vocab_size=20, embed_dim=8, pooling="concat", shared_with="target")]
    pooled = [SequenceFeature("clicks", vocab_size=20, embed_dim=8, pooling="mean", shared_with="item")]
    target = [SparseFeature("target", vocab_size=20, embed_dim=8)]
    index = lambda *sizes: torch.randint(1, 20, sizes or (4,))  # noqa: E731
    flat = ["user", "item", "shop", "price", "age"]
    columns = lambda: (index(), index(), index(), torch.rand(4), torch.rand(4))  # noqa: E731
    categories = lambda: (index(), index(), index())  # noqa: E731
    both = sparse + dense
    rank = (
        ("wide_deep", "linear part beside a deep one", lambda: ranking.WideDeep(sparse, both, PERCEPTRON), flat, columns),
        ("deepfm", "factorisation machine", lambda: ranking.DeepFM(both, sparse, PERCEPTRON), flat, columns),
        ("dcn", "crosses of features", lambda: ranking.DCN(both, 2, PERCEPTRON), flat, columns),
        ("dcn_v2", "low-rank mixtures of crosses", lambda: ranking.DCNv2(both, 2, PERCEPTRON, low_rank=4, num_experts=2), flat, columns),
        ("edcn", "bridges between branches", lambda: ranking.EDCN(sparse, 2, {"dims": [24, 24]}), flat[:3], categories),
        ("fibinet", "bilinear products of fields", lambda: ranking.FiBiNet(sparse, PERCEPTRON), flat[:3], categories),
        ("afm", "attention over pairs", lambda: ranking.AFM(sparse, 8, 4), flat[:3], categories),
        ("autoint", "attention over fields", lambda: ranking.AutoInt(sparse, dense, 1, 2), flat, columns),
    )
    for name, cause, model, names, inputs in rank:
        yield Network("recommender", f"rechub_{name}", cause, lambda model=model, names=names, inputs=inputs: (Features(model(), names), inputs()))
    past, names = lambda: (index(), index(4, 6), index()), ["user", "history", "target"]  # noqa: E731
    wide = [SparseFeature("user", 20, 8)]
    for name, cause, model in (
            ("din", "attention of a target over a history", lambda: ranking.DIN(wide, history, target, PERCEPTRON, {"dims": [8, 8]})),
            ("bst", "a transformer over a history", lambda: ranking.BST(wide, history, target, PERCEPTRON, nhead=2, max_seq_len=7))):
        yield Network("recommender", f"rechub_{name}", cause, lambda model=model: (Features(model(), names), past()))
    sequence = SequenceFeature("items", vocab_size=20, embed_dim=8, pooling="concat")
    item = lambda: [SparseFeature("item", 20, 8)]  # noqa: E731
    told = lambda: [SequenceFeature("history", vocab_size=20, embed_dim=8, pooling="concat", shared_with="item")]  # noqa: E731
    negative = lambda: [SequenceFeature("others", vocab_size=20, embed_dim=8, pooling="concat", shared_with="item")]  # noqa: E731
    matched, rows = ["user", "history", "item", "others"], lambda: (index(), index(4, 6), index(), index(4, 3))  # noqa: E731
    for name, cause, model in (
            ("gru4rec", "GRU over a session", lambda: matching.GRU4Rec(wide, told(), item(), negative(), {"dims": [8]})),
            ("mind", "capsules of interests", lambda: matching.MIND(wide, told(), item(), negative(), 6, interest_num=2)),
            ("comirec_sa", "several interests by attention", lambda: matching.ComirecSA(wide, told(), item(), negative(), interest_num=2))):
        yield Network("recommender", f"rechub_{name}", cause, lambda model=model: (Features(model(), matched), rows()),
                      remark="begins its routing with random numbers" if name == "mind" else "")
    yield Network("recommender", "rechub_dssm", "two towers, cosine similarity",
                  lambda: (Features(matching.DSSM(wide, [SparseFeature("item", 20, 8)], {"dims": [8]}, {"dims": [8]}), ["user", "item"]), (index(), index())))
    yield Network("recommender", "rechub_youtube", "pooled clicks against sampled items",
                  lambda: (Features(matching.YoutubeDNN(wide + [SequenceFeature("clicks", 20, 8, pooling="mean", shared_with="item")], item(), negative(), {"dims": [8]}),
                                    ["user", "clicks", "item", "others"]), rows()))
    yield Network("recommender", "rechub_sasrec", "self-attention over a session",
                  lambda: (Features(matching.SASRec([SequenceFeature(x, 20, 8, pooling="concat", shared_with=None if x == "seq" else "seq") for x in ("seq", "pos", "neg")], max_len=6), ["seq", "pos", "neg"]),
                           (index(4, 6), index(4, 6), index(4, 6))))
    yield Network("recommender", "rechub_stamp", "the last click and the mean", lambda: (Features(matching.STAMP(sequence, 0.1, 0.1), ["items"]), (index(4, 6),)))
    tower = [{"dims": [8]}, {"dims": [8]}]
    tasks = ["classification", "classification"]
    for name, cause, model in (("mmoe", "experts with a gate for each task", lambda: multi_task.MMOE(both, tasks, 2, {"dims": [8]}, tower)),
                               ("ple", "own and shared experts", lambda: multi_task.PLE(both, tasks, 1, 1, 1, {"dims": [8]}, tower)),
                               ("shared_bottom", "one base for two tasks", lambda: multi_task.SharedBottom(both, tasks, {"dims": [8]}, tower)),
                               ("aitm", "attention between tasks", lambda: multi_task.AITM(both, 2, {"dims": [8]}, tower))):
        yield Network("recommender", f"rechub_{name}", cause, lambda model=model: (Features(model(), flat), columns()))
    yield Network("recommender", "rechub_esmm", "product of two rates", lambda: (Features(multi_task.ESMM(wide + pooled[:0], sparse[1:], {"dims": [8]}, {"dims": [8]}), flat[:3]), categories()))


def rows_of_tables():
    import rtdl_num_embeddings as embeddings
    import rtdl_revisiting_models as rtdl
    import tabm
    from pytorch_tabnet.tab_network import TabNet
    table = lambda: (torch.randn(4, 3), torch.randint(0, 4, (4, 2)))  # noqa: E731
    yield Network("recommender", "rtdl_ft_transformer", "attention over the columns of a table",
                  lambda: (rtdl.FTTransformer(n_cont_features=3, cat_cardinalities=[4, 4], d_out=2, n_blocks=1, d_block=16, attention_n_heads=2, attention_dropout=0.0, ffn_d_hidden=16, ffn_d_hidden_multiplier=None, ffn_dropout=0.0,
                                              residual_dropout=0.0), table()))
    yield Network("recommender", "rtdl_resnet", "residual perceptron", lambda: (rtdl.ResNet(d_in=5, d_out=2, n_blocks=2, d_block=16, d_hidden=32, d_hidden_multiplier=None, dropout1=0.0, dropout2=0.0), (torch.randn(4, 5),)))
    yield Network("recommender", "rtdl_periodic", "sines of numbers", lambda: (embeddings.PeriodicEmbeddings(3, 8, lite=False), (torch.randn(4, 3),)))
    yield Network("recommender", "tabm_tabm", "an ensemble in one network", lambda: (tabm.TabM(n_num_features=3, cat_cardinalities=[4, 4], d_out=2, n_blocks=2, d_block=16, dropout=0.0, k=4, arch_type="tabm", start_scaling_init="random-signs"), table()))
    yield Network("recommender", "tabnet_sparsemax", "sparse masks by sorting", lambda: (TabNet(6, 2, 4, 4, 2, group_attention_matrix=torch.eye(6)), (torch.randn(4, 6),)))
    yield Network("recommender", "tabnet_entmax", "entmax by sorting", lambda: (TabNet(6, 2, 4, 4, 2, mask_type="entmax", group_attention_matrix=torch.eye(6)), (torch.randn(4, 6),)))
