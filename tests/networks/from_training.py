# SPDX-License-Identifier: Apache-2.0
"""Rows of networks in training: the loss with its gradients, of one step."""
import torch
from network import Network, image, import_torchvision, tokens
from torch import nn

# PyTorch's own gradients differ from float64's by 0.019 in mobilenet_v2 and 0.007 in mnasnet. In shufflenet the gradient of
# one channel has two values, 0.0497 apart: PyTorch returned the other one in 3 of 8 runs with inputs and weights changed by 1e-7.
LOSSY = {"mobilenet_v2": 5e-2, "mnasnet": 2e-2, "shufflenet": 1e-1}


class Loss(nn.Module):
    """The loss of a network whose first result is compared with the last input."""

    def __init__(self, model, loss, pick=lambda y: y):
        super().__init__()
        self.model, self.loss, self.pick = model, loss, pick

    def forward(self, *args):
        return self.loss(self.pick(self.model(*args[:-1])), args[-1])


def rows_of_training():
    import transformers
    tv = import_torchvision().models
    classes, mean = nn.functional.cross_entropy, nn.functional.mse_loss
    label = lambda count=2: torch.arange(count) % 3  # noqa: E731
    small = dict(vocab_size=96, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
    words = lambda y: y.logits.flatten(0, 1)  # noqa: E731

    def text(model, **fixed):
        return Loss(Fixed(model, fixed), classes, words), (tokens(6)[0], tokens(6)[0][0])

    def images(model, size=64):
        # A batch norm over few values turns rounding errors into signs, so the last one gets 16.
        return Loss(model, classes), (image(size, 4)[0], label(4))

    def recurrent(kind):
        return Loss(kind(4, 8, batch_first=True), mean, lambda y: y[0]), (torch.randn(2, 5, 4), torch.randn(2, 5, 8))

    table = (
        ("resnet18", "batch norms and residuals", lambda: images(tv.resnet18(num_classes=3))), ("squeezenet", "max pools", lambda: images(without_dropout(tv.squeezenet1_1(num_classes=3)))),
        ("mobilenet_v2", "depthwise convolutions", lambda: images(without_dropout(tv.mobilenet_v2(num_classes=3)))), ("shufflenet", "channel shuffle", lambda: images(tv.shufflenet_v2_x0_5(num_classes=3))),
        ("densenet", "concatenations", lambda: images(tv.DenseNet(8, (2, 2), 16, num_classes=3))), ("mnasnet", "5x5 depthwise", lambda: images(without_dropout(tv.mnasnet0_5(num_classes=3)))),
        ("regnet", "gates", lambda: images(tv.regnet_y_400mf(num_classes=3))), ("convnext", "layer norms", lambda: images(tv.ConvNeXt([tv.convnext.CNBlockConfig(16, 32, 1), tv.convnext.CNBlockConfig(32, None, 1)], 0.0, num_classes=3))),
        ("vit", "attention of images", lambda: images(tv.VisionTransformer(32, 8, 1, 2, 16, 32, num_classes=3), 32)),
        ("segmentation", "upsampling", lambda: (Loss(without_dropout(import_torchvision().models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=3)), classes, lambda y: y["out"]),
                                                (image(64, 4)[0], torch.randint(0, 3, (4, 64, 64))))),
        ("distilbert", "attention in both directions", lambda: text(transformers.DistilBertForMaskedLM(
            transformers.DistilBertConfig(vocab_size=96, dim=16, n_layers=1, n_heads=2, hidden_dim=32, dropout=0.0, attention_dropout=0.0, tie_word_embeddings=False)))),
        ("gpt2", "causal attention", lambda: text(transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=96, n_embd=16, n_layer=1, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, tie_word_embeddings=False)), use_cache=False)),
        ("llama", "rotary positions, grouped heads", lambda: text(transformers.LlamaForCausalLM(transformers.LlamaConfig(**small, num_key_value_heads=1)), use_cache=False)),
        ("qwen3", "norms of queries", lambda: text(transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**small, num_key_value_heads=1, head_dim=8)), use_cache=False)),
        ("lstm", "recurrence", lambda: recurrent(nn.LSTM)), ("gru", "recurrence", lambda: recurrent(nn.GRU)), ("rnn", "recurrence", lambda: recurrent(nn.RNN)),
        ("transformer", "encoder and decoder", lambda: (Loss(nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True), mean), (torch.randn(2, 5, 8), torch.randn(2, 3, 8), torch.randn(2, 3, 8)))),
        ("bag", "sums of embeddings", lambda: (Loss(nn.Sequential(nn.EmbeddingBag(20, 8, mode="sum"), nn.Linear(8, 3)), classes), (torch.randint(0, 20, (2, 4)), label()))),
        ("autoencoder", "transposed convolutions", lambda: (Loss(nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ELU(), nn.ConvTranspose2d(8, 3, 4, 2, 1), nn.Sigmoid()), mean), (image(16, 2)[0], image(16, 2)[0]))),
    )
    for name, cause, make in table:
        yield Network("training", f"training_{name}", cause, make, tolerance=LOSSY.get(name, 5e-4), is_training=True,
                      remark="amplifies rounding: PyTorch's own gradients differ from float64's by a quarter" if name == "regnet" else "")


class Fixed(nn.Module):
    def __init__(self, model, fixed):
        super().__init__()
        self.model, self.fixed = model, fixed

    def forward(self, *args):
        return self.model(*args, **self.fixed)


def without_dropout(model):
    for part in model.modules():
        if isinstance(part, nn.modules.dropout._DropoutNd):
            part.p = 0.0
    return model


def rows_of_training_graphs():
    import torch_geometric.nn as g
    from from_geometric import EDGES, Layers
    label = torch.arange(8) % 3
    for name, make in (("gcn", lambda n, m: g.GCNConv(n, m)), ("gat", lambda n, m: g.GATConv(n, m)), ("sage", lambda n, m: g.SAGEConv(n, m)), ("gin", lambda n, m: g.GINConv(nn.Linear(n, m)))):
        yield Network("training", f"training_{name}", "gradients through messages", lambda make=make: (Loss(Layers(make(8, 8), make(8, 3)), nn.functional.cross_entropy), (torch.randn(8, 8), EDGES, label)), tolerance=5e-4, is_training=True)
