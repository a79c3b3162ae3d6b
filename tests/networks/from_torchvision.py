# SPDX-License-Identifier: Apache-2.0
"""Rows of torchvision: classification, detection, segmentation, optical flow, video."""
import torch
from network import Function, Network, Picked, image, import_torchvision

CLASSIFIERS = {
    "alexnet": (64, "large fully connected layers"), "vgg11_bn": (32, "plain chain of convolutions"),
    "googlenet": (64, "parallel branches, concatenated"), "inception_v3": (96, "kernels of 1x7 and 7x1"),
    "resnet18": (64, "residual blocks"), "resnext50_32x4d": (32, "grouped convolutions"),
    "wide_resnet50_2": (32, "bottlenecks of many channels"), "densenet121": (64, "every layer reads all earlier ones"),
    "squeezenet1_1": (64, "max pools that round up"), "shufflenet_v2_x0_5": (64, "channel shuffle"),
    "mobilenet_v2": (64, "depthwise convolutions, ReLU6"), "mobilenet_v3_small": (64, "squeeze and excitation, hard swish"),
    "mobilenet_v3_large": (64, "hard sigmoid gates"), "mnasnet0_5": (64, "5x5 depthwise convolutions"),
    "efficientnet_b0": (64, "SiLU and gates"), "efficientnet_v2_s": (64, "fused inverted bottlenecks"),
    "regnet_y_400mf": (64, "grouped convolutions with gates"), "regnet_x_400mf": (64, "grouped convolutions"),
    "convnext_tiny": (64, "layer norm over channels, permuted"), "swin_t": (64, "shifted windows, roll"),
    "swin_v2_t": (64, "cosine attention, clamped scale"),
}


def rows_of_torchvision():
    tv = import_torchvision().models

    def classifier(name):
        more = {"googlenet": {"init_weights": False, "aux_logits": False}, "inception_v3": {"init_weights": False, "aux_logits": False}}.get(name, {})
        return lambda: (getattr(tv, name)(num_classes=10, **more), image(CLASSIFIERS[name][0]))

    yield from [Network("vision", f"torchvision_{name}", cause, classifier(name)) for name, (_, cause) in CLASSIFIERS.items()]
    batch = {0: torch.export.Dim("batch", min=1, max=8)}
    yield Network("vision", "torchvision_resnet18_batches", "a batch of any size", lambda: (tv.resnet18(num_classes=10), image(32, 2), [batch]))
    yield Network("vision", "torchvision_vit", "attention with fused weights of queries, keys and values",
                  lambda: (tv.VisionTransformer(image_size=32, patch_size=8, num_layers=2, num_heads=2, hidden_dim=32, mlp_dim=64, num_classes=10), image(32)))
    yield Network("vision", "torchvision_maxvit", "attention over blocks and over grids",
                  lambda: (tv.maxvit.MaxVit(input_size=(64, 64), stem_channels=16, block_channels=[16, 32], block_layers=[1, 1], head_dim=8,
                                            stochastic_depth_prob=0.0, partition_size=4, num_classes=10), image(64)))


def rows_of_torchvision_segmentation():
    segmentation = import_torchvision().models.segmentation
    made = dict(weights=None, weights_backbone=None, num_classes=4)
    for name, cause in (("deeplabv3_mobilenet_v3_large", "dilated convolutions"), ("lraspp_mobilenet_v3_large", "two resolutions"),
                        ("fcn_resnet50", "upsampling to the size of the input"), ("deeplabv3_resnet50", "pyramid of dilations")):
        yield Network("vision", f"torchvision_{name}", cause, lambda name=name: (getattr(segmentation, name)(**made), image(64)))
    height, width = torch.export.Dim("height", min=4, max=16), torch.export.Dim("width", min=4, max=16)
    yield Network("vision", "torchvision_lraspp_sizes", "images of any size that is a multiple of 16",
                  lambda: (segmentation.lraspp_mobilenet_v3_large(**made), image(96), [{2: 16 * height, 3: 16 * width}]))


def rows_of_torchvision_detection():
    detection = import_torchvision().models.detection
    made = dict(weights=None, weights_backbone=None, num_classes=5)

    for name, cause in (("ssdlite320_mobilenet_v3_large", "depthwise heads over six sizes"), ("retinanet_resnet50_fpn", "feature pyramid"),
                              ("retinanet_resnet50_fpn_v2", "group norm in shared heads"), ("fcos_resnet50_fpn", "centreness, exponent of distances"),
                              ("ssd300_vgg16", "scaled L2 norm, heads of default boxes")):
        size = {"ssd300_vgg16": 300, "ssdlite320_mobilenet_v3_large": 320}.get(name, 64)
        yield Network("vision", f"torchvision_{name}_heads", cause,
                      lambda name=name, size=size: (Heads(getattr(detection, name)(**made)), image(size)))
    yield Network("vision", "torchvision_fasterrcnn_proposals", "region proposals: objectness and box deltas of a pyramid",
                  lambda: (Proposals(detection.fasterrcnn_mobilenet_v3_large_320_fpn(**made)), image(64)))
    yield Network("vision", "torchvision_keypoint_head", "transposed convolution and upsampling of regions",
                  lambda: (KeypointHead(detection), (torch.randn(2, 256, 14, 14),)))


class Heads(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.backbone, self.head = model.backbone, model.head

    def forward(self, x):
        return self.head(list(self.backbone(x).values()))


class Proposals(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.backbone, self.head = model.backbone, model.rpn.head

    def forward(self, x):
        return self.head(list(self.backbone(x).values()))


class KeypointHead(torch.nn.Module):
    def __init__(self, detection):
        super().__init__()
        self.head = detection.keypoint_rcnn.KeypointRCNNHeads(256, (32, 32))
        self.predictor = detection.keypoint_rcnn.KeypointRCNNPredictor(32, 5)

    def forward(self, x):
        return self.predictor(self.head(x))


def rows_of_torchvision_video():
    torchvision = import_torchvision()
    video, flow = torchvision.models.video, torchvision.models.optical_flow
    clip = lambda frames=4, size=32: (torch.randn(1, 3, frames, size, size),)  # noqa: E731
    for name, cause in (("r3d_18", "convolutions in three dimensions"), ("mc3_18", "convolutions in three dimensions, then in two"),
                        ("r2plus1d_18", "convolutions split into space and time")):
        yield Network("video", f"torchvision_{name}", cause, lambda name=name: (getattr(video, name)(num_classes=5), clip()))
    yield Network("video", "torchvision_s3d", "separable convolutions, pools in three dimensions",
                  lambda: (video.S3D(num_classes=5), clip(16, 224)))
    yield Network("video", "torchvision_mvit", "pooled attention with relative positions in three dimensions",
                  lambda: (video.MViT(spatial_size=(32, 32), temporal_size=4, block_setting=[video.mvit.MSBlockConfig(1, 16, 32, (3, 3, 3), (1, 2, 2), (1, 1, 1), (1, 2, 2)),
                                                                                       video.mvit.MSBlockConfig(2, 32, 32, (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1))],
                                      residual_pool=True, residual_with_cls_embed=False, rel_pos_embed=True, proj_after_attn=True, num_classes=5), clip()))
    yield Network("video", "torchvision_swin3d", "shifted windows in three dimensions",
                  lambda: (video.SwinTransformer3d([2, 4, 4], 16, [2, 2], [2, 4], [2, 4, 4], num_classes=5), clip(4, 32)))
    frames = lambda size=128: (torch.randn(1, 3, size, size), torch.randn(1, 3, size, size))  # noqa: E731
    yield Network("video", "torchvision_raft_small", "optical flow: correlation volume, grid samples, recurrent steps",
                  lambda: (Picked(flow.raft_small(), lambda y: y[-1], num_flow_updates=2), frames()), tolerance=5e-4)


def rows_of_torchvision_transforms():
    import_torchvision()
    from torchvision.transforms.v2 import functional
    for name, cause, function in (
            ("normalize", "transform of images", lambda x: functional.normalize(x, [0.5] * 3, [0.2] * 3)),
            ("resize", "antialiased resampling", lambda x: functional.resize(x, [24, 20], antialias=True)),
            ("rotate", "affine grid of a fixed angle", lambda x: functional.rotate(x, 30.0)),
            ("blur", "separable filter over reflected borders", lambda x: functional.gaussian_blur(x, [5, 5], [1.0, 1.0])),
            ("hue", "colours in another space", lambda x: functional.adjust_hue(x.sigmoid(), 0.1)),
            ("equalize", "histogram and lookup", lambda x: functional.equalize((x.sigmoid() * 255).to(torch.uint8))),
            ("elastic", "displaced grid", lambda x: functional.elastic(x, torch.full((1, 32, 32, 2), 0.05)))):
        yield Network("vision", f"torchvision_{name}", cause, lambda function=function: (Function(function), image(32)))

