# SPDX-License-Identifier: Apache-2.0
"""The networks of the comparison, in the sizes that people use, written out so that nothing but torch is needed. Weights are random
from a fixed seed: only times matter here."""
import torch
import torch.nn.functional as F
from torch import nn


def conv_norm(cin, cout, kernel=3, stride=1, groups=1, relu=None):
    layers = [nn.Conv2d(cin, cout, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(cout)]
    return nn.Sequential(*layers, *([relu()] if relu else []))


class InvertedResidual(nn.Module):
    def __init__(self, cin, cout, stride, expand):
        super().__init__()
        hidden = cin * expand
        self.keeps = stride == 1 and cin == cout
        layers = [conv_norm(cin, hidden, 1, relu=nn.ReLU6)] if expand != 1 else []
        self.conv = nn.Sequential(*layers, conv_norm(hidden, hidden, 3, stride, hidden, nn.ReLU6), conv_norm(hidden, cout, 1))

    def forward(self, x):
        return x + self.conv(x) if self.keeps else self.conv(x)


class MobileNetV2(nn.Module):
    ROWS = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]

    def __init__(self):
        super().__init__()
        layers, cin = [conv_norm(3, 32, stride=2, relu=nn.ReLU6)], 32
        for expand, cout, count, stride in self.ROWS:
            for i in range(count):
                layers.append(InvertedResidual(cin, cout, stride if i == 0 else 1, expand))
                cin = cout
        self.features = nn.Sequential(*layers, conv_norm(cin, 1280, 1, relu=nn.ReLU6))
        self.classifier = nn.Linear(1280, 1000)

    def forward(self, x):
        return self.classifier(F.adaptive_avg_pool2d(self.features(x), 1).flatten(1))


class BasicBlock(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1, self.conv2 = conv_norm(cin, cout, stride=stride, relu=nn.ReLU), conv_norm(cout, cout)
        self.down = conv_norm(cin, cout, 1, stride) if stride != 1 or cin != cout else nn.Identity()

    def forward(self, x):
        return F.relu(self.conv2(self.conv1(x)) + self.down(x))


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv_norm(3, 64, 7, 2, relu=nn.ReLU), nn.MaxPool2d(3, 2, 1))
        blocks, cin = [], 64
        for cout, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
            blocks.append(BasicBlock(cin, cout, stride))
            cin = cout
        self.blocks, self.classifier = nn.Sequential(*blocks), nn.Linear(512, 1000)

    def forward(self, x):
        return self.classifier(F.adaptive_avg_pool2d(self.blocks(self.stem(x)), 1).flatten(1))


class Block(nn.Module):
    def __init__(self, width, heads, causal=True):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)

    def forward(self, x):
        batch, count, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, count, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = self.attend(q, k, v).transpose(1, 2).reshape(batch, count, width)
        x = x + self.out(mixed)
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self, width=384, layers=6, heads=6, words=8192, count=64, block=Block):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Parameter(torch.randn(1, count, width))
        self.blocks = nn.Sequential(*[block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.words(x) + self.places)))


def all_models():
    torch.manual_seed(0)
    image = torch.randn(1, 3, 224, 224)
    yield "mobilenet_v2", MobileNetV2(), image
    yield "resnet18", ResNet18(), image
    yield "gpt_6_layers", Gpt(), torch.randint(0, 8192, (1, 64))
