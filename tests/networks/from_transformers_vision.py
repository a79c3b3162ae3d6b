# SPDX-License-Identifier: Apache-2.0
"""Rows of transformers that read images, clips or several kinds of inputs."""
import torch
from network import Network, Picked, image, tokens

SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32, patch_size=8)
STAGES = dict(hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1])
WINDOWS = dict(image_size=32, patch_size=4, embed_dim=8, depths=[1, 1], num_heads=[2, 4], window_size=4)
TEXT = dict(vocab_size=96, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)


def hidden(y):
    return y.last_hidden_state


def detected(y):
    return y.logits, y.pred_boxes


# Row, class, configuration, its differences from SMALL, size of the image, what is asked for, what it represents.
IMAGES = (
    ("vit", "ViTModel", "ViTConfig", {}, 32, hidden, "patches as tokens"),
    ("deit", "DeiTModel", "DeiTConfig", {}, 32, hidden, "two special tokens"),
    ("beit", "BeitModel", "BeitConfig", dict(use_relative_position_bias=True), 32, hidden, "table of relative positions"),
    ("dinov2", "Dinov2Model", "Dinov2Config", {}, 32, hidden, "scaled layers"),
    ("dinov3", "DINOv3ViTModel", "DINOv3ViTConfig", {}, 32, hidden, "rotary positions of patches"),
    ("ijepa", "IJepaModel", "IJepaConfig", {}, 32, hidden, "no class token"),
    ("clip_vision", "CLIPVisionModel", "CLIPVisionConfig", {}, 32, hidden, "norm before the first layer"),
    ("siglip_vision", "SiglipVisionModel", "SiglipVisionConfig", {}, 32, hidden, "pooling by attention"),
    ("yolos", "YolosForObjectDetection", "YolosConfig", dict(image_size=[32, 32], num_detection_tokens=5), 32, detected, "detection tokens"),
    ("convnext", "ConvNextModel", "ConvNextConfig", STAGES, 64, hidden, "norm over channels first"),
    ("convnextv2", "ConvNextV2Model", "ConvNextV2Config", STAGES, 64, hidden, "response normalisation"),
    ("resnet", "ResNetModel", "ResNetConfig", dict(embedding_size=8, **STAGES), 64, hidden, "residual blocks"),
    ("regnet", "RegNetModel", "RegNetConfig", dict(embedding_size=8, groups_width=8, **STAGES), 64, hidden, "grouped convolutions"),
    ("mobilenet_v1", "MobileNetV1Model", "MobileNetV1Config", {}, 64, hidden, "padding of one side"),
    ("mobilevit", "MobileViTModel", "MobileViTConfig", dict(image_size=64, patch_size=2, hidden_sizes=[16, 24, 32]), 64, hidden, "unfolded patches"),
    ("swin", "SwinModel", "SwinConfig", WINDOWS, 32, hidden, "shifted windows"),
    ("swinv2", "Swinv2Model", "Swinv2Config", WINDOWS, 32, hidden, "continuous position bias"),
    ("segformer", "SegformerForSemanticSegmentation", "SegformerConfig",
     dict(decoder_hidden_size=16, num_attention_heads=[1, 2, 4, 4], patch_sizes=[7, 3, 3, 3], **STAGES), 64, lambda y: y.logits, "reduced keys"),
    ("poolformer", "PoolFormerModel", "PoolFormerConfig", dict(patch_size=7, **STAGES), 64, hidden, "pooling instead of attention"),
    ("pvt", "PvtModel", "PvtConfig", dict(STAGES, image_size=64, num_attention_heads=[1, 2, 4, 4], patch_sizes=[4, 2, 2, 2]), 64, hidden, "resized position table"),
    ("pvt_v2", "PvtV2Model", "PvtV2Config", dict(STAGES, image_size=64, num_attention_heads=[1, 2, 4, 4]), 64, hidden, "overlapping patches"),
    ("levit", "LevitModel", "LevitConfig", dict(image_size=64, hidden_sizes=[16, 32, 48], num_attention_heads=[1, 2, 3], depths=[1, 1, 1], key_dim=[16, 16, 16]), 64, hidden,
     "batch norms in attention"),
    ("bit", "BitModel", "BitConfig", dict(embedding_size=32, hidden_sizes=[32, 64, 64, 64], depths=[1, 1, 1, 1], num_groups=4, layer_type="preactivation"), 64, hidden, "standardised weights"),
    ("hiera", "HieraModel", "HieraConfig", dict(image_size=[64, 64], embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 2, 4], patch_size=[7, 7]), 64, hidden,
     "units of attention"),
    ("focalnet", "FocalNetModel", "FocalNetConfig", dict(image_size=32, patch_size=4, embed_dim=8, depths=[1, 1]), 32, hidden, "gated contexts"),
    ("dpt", "DPTForDepthEstimation", "DPTConfig", dict(num_hidden_layers=4, backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[8, 8, 8, 8], fusion_hidden_size=8), 32,
     lambda y: y.predicted_depth, "fusion of layers, transposed convolutions"),
    ("glpn", "GLPNForDepthEstimation", "GLPNConfig", dict(STAGES, num_attention_heads=[1, 2, 4, 4], decoder_hidden_size=8), 64, lambda y: y.predicted_depth,
     "depth from gates"),
    ("upernet", "UperNetForSemanticSegmentation", "UperNetConfig", dict(hidden_size=16, pool_scales=[1, 2]), 64, lambda y: y.logits, "pyramid of pools"),
    ("detr", "DetrForObjectDetection", "DetrConfig", dict(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, d_model=32, encoder_layers=1,
                                                         decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=32,
                                                         decoder_ffn_dim=32, num_queries=5), 64, detected, "object queries"),
    ("rt_detr", "RTDetrForObjectDetection", "RTDetrConfig", dict(num_queries=10, d_model=32, encoder_hidden_dim=32, encoder_ffn_dim=32, decoder_ffn_dim=32, decoder_layers=1,
                                                                encoder_attention_heads=4, decoder_attention_heads=4, num_denoising=0, anchor_image_size=None, decoder_in_channels=[32, 32, 32]),
     64, detected, "deformable attention, top proposals"),
    ("swin2sr", "Swin2SRForImageSuperResolution", "Swin2SRConfig", dict(image_size=16, patch_size=1, embed_dim=8, depths=[1, 1], num_heads=[2, 2], window_size=4, upscale=2),
     16, lambda y: y.reconstruction, "super resolution, pixel shuffle"),
    ("superpoint", "SuperPointForKeypointDetection", "SuperPointConfig", {}, 64, lambda y: y.scores, "number of key points from the data"),
)
CLIPS = (
    ("timesformer", "TimesformerModel", "TimesformerConfig", dict(num_frames=2), "attention over time, then space"),
    ("videomae", "VideoMAEModel", "VideoMAEConfig", dict(num_frames=2), "tubes of patches"),
    ("vivit", "VivitModel", "VivitConfig", dict(num_frames=2, tubelet_size=[2, 8, 8]), "3-D patches"),
)


def rows_of_transformers_vision():
    import transformers

    def make(kind, configuration, more, inputs, pick):
        base = {} if {"depths", "depth", "d_model", "hidden_sizes"} & set(more) else SMALL  # networks of stages have no number of layers
        return lambda: (Picked(getattr(transformers, kind)(getattr(transformers, configuration)(**{**base, **more})), pick), inputs())

    for name, kind, configuration, more, size, pick, cause in IMAGES:
        if hasattr(transformers, kind):
            yield Network("vision", f"transformers_{name}", cause, make(kind, configuration, more, lambda size=size: image(size), pick),
                          remark="chooses among proposals whose scores are equal but for rounding" if name == "rt_detr" else "")
    yield Network("vision", "transformers_mae", "masked patches", make("ViTMAEModel", "ViTMAEConfig", dict(mask_ratio=0.0), lambda: image(32), hidden),
                  remark="draws the order of the patches at random")
    for name, kind, configuration, more, cause in CLIPS:
        yield Network("video", f"transformers_{name}", cause, make(kind, configuration, more, lambda: (torch.randn(1, 2, 3, 32, 32),), hidden))


def rows_of_transformers_pairs():
    import transformers

    def clip():
        configuration = transformers.CLIPConfig(text_config=dict(TEXT, eos_token_id=95), vision_config=SMALL, projection_dim=16)
        return Picked(transformers.CLIPModel(configuration), lambda y: y.logits_per_image), {"input_ids": tokens()[0], "pixel_values": image(32)[0]}

    def siglip():
        configuration = transformers.SiglipConfig(text_config=TEXT, vision_config=SMALL)
        return Picked(transformers.SiglipModel(configuration), lambda y: y.logits_per_image), {"input_ids": tokens()[0], "pixel_values": image(32)[0]}

    def vilt():
        configuration = transformers.ViltConfig(**{**TEXT, "image_size": 32, "patch_size": 8, "max_image_length": -1})
        model = transformers.ViltModel(configuration)
        return Picked(model, hidden), {"input_ids": tokens()[0], "pixel_values": image(32)[0]}

    def blip():
        configuration = transformers.BlipConfig(text_config=dict(TEXT, encoder_hidden_size=32), vision_config=SMALL, projection_dim=16)
        return Picked(transformers.BlipModel(configuration), lambda y: y.logits_per_image), {"input_ids": tokens()[0], "pixel_values": image(32)[0]}

    def sam():
        parts = dict(vision_config=dict(hidden_size=32, output_channels=16, num_hidden_layers=2, num_attention_heads=2, image_size=64, patch_size=8, window_size=4,
                                        global_attn_indexes=[1], mlp_dim=64, num_pos_feats=8),
                     prompt_encoder_config=dict(hidden_size=16, image_size=64, patch_size=8), mask_decoder_config=dict(hidden_size=16, mlp_dim=32, num_attention_heads=2,
                                                                                                                      iou_head_hidden_dim=16))
        model = transformers.SamModel(transformers.SamConfig(**parts))
        return (Picked(model, lambda y: (y.pred_masks, y.iou_scores), multimask_output=False),
                {"pixel_values": image(64)[0], "input_points": torch.tensor([[[[20.0, 30.0]]]])})

    for name, cause, make in (("clip", "two towers, cosine similarity", clip), ("siglip", "sigmoid similarity", siglip), ("vilt", "text and patches in one sequence", vilt),
                              ("blip", "a text encoder beside an image encoder", blip), ("sam", "prompts by Fourier features, masks by transposed convolutions", sam)):
        yield Network("vision", f"transformers_{name}", cause, make)
