# SPDX-License-Identifier: Apache-2.0
"""Rows of vit-pytorch: variants of vision transformers, most of them with einops."""
import importlib

import torch
from network import Network, image

PLAIN = dict(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=2, mlp_dim=32)
FRAMES = dict(image_size=32, image_patch_size=8, frames=4, frame_patch_size=2, num_classes=5, dim=32, depth=2, heads=2, mlp_dim=32)


def without(*names, **more):
    return {**{key: value for key, value in PLAIN.items() if key not in names}, **more}


# Module, class, arguments, shape of the input (None: an image of 32), what it represents.
VARIANTS = (
    ("vit", "ViT", PLAIN, None, "patches by rearranging"), ("simple_vit", "SimpleViT", PLAIN, None, "sinusoidal positions"),
    ("simple_vit_with_qk_norm", "SimpleViT", PLAIN, None, "norms of queries and keys"), ("simple_vit_with_register_tokens", "SimpleViT", PLAIN, None, "register tokens"),
    ("simple_vit_with_fft", "SimpleViT", {**PLAIN, "freq_patch_size": 8}, None, "Fourier transform of an image"),
    ("simple_vit_with_value_residual", "SimpleViT", PLAIN, None, "values of the first layer"), ("simple_flash_attn_vit", "SimpleViT", PLAIN, None, "fused attention"),
    ("simple_vit_with_hyper_connections", "SimpleViT", {**PLAIN, "num_residual_streams": 2}, None, "several residual streams"),
    ("deepvit", "DeepViT", PLAIN, None, "mixing of heads"), ("normalized_vit", "nViT", PLAIN, None, "weights on a sphere"),
    ("parallel_vit", "ViT", {**PLAIN, "num_parallel_branches": 2}, None, "parallel branches"), ("learnable_memory_vit", "ViT", PLAIN, None, "memory tokens"),
    ("cait", "CaiT", {**PLAIN, "cls_depth": 1}, None, "class attention"),
    ("pit", "PiT", {**PLAIN, "depth": (1, 1)}, None, "pools between layers"), ("rvt", "RvT", PLAIN, None, "rotary positions, convolutional queries"),
    ("vit_for_small_dataset", "ViT", PLAIN, None, "shifted patches"), ("vit_with_patch_merger", "ViT", {**PLAIN, "patch_merge_layer": 1, "patch_merge_num_tokens": 4}, None, "merged tokens"),
    ("t2t", "T2TViT", without("patch_size", t2t_layers=((7, 4), (3, 2))), None, "unfolded tokens"),
    ("cct", "CCT", dict(img_size=32, embedding_dim=32, n_conv_layers=1, num_layers=2, num_heads=2, mlp_ratio=1, num_classes=5), None, "pooling of a sequence"),
    ("cross_vit", "CrossViT", dict(image_size=32, num_classes=5, sm_dim=16, lg_dim=32, sm_patch_size=8, sm_enc_depth=1, sm_enc_heads=2, sm_enc_mlp_dim=16, lg_patch_size=16,
                                   lg_enc_depth=1, lg_enc_heads=2, lg_enc_mlp_dim=16, depth=1, cross_attn_heads=2), None, "two sizes of patches"),
    ("cvt", "CvT", dict(num_classes=5, s1_emb_dim=8, s1_heads=1, s2_emb_dim=16, s2_heads=1, s2_depth=1, s3_emb_dim=32, s3_heads=2, s3_depth=1), None, "convolutional projections"),
    ("levit", "LeViT", dict(image_size=64, num_classes=5, stages=2, dim=(16, 32), depth=1, heads=(1, 2), mlp_mult=2, dim_key=8, dim_value=8), (1, 3, 64, 64), "attention with batch norms"),
    ("max_vit", "MaxViT", dict(num_classes=5, dim=16, depth=(1, 1), dim_head=8, window_size=4), (1, 3, 64, 64), "blocks and grids"),
    ("mobile_vit", "MobileViT", dict(image_size=(64, 64), dims=[16, 16, 16], channels=[8, 8, 16, 16, 16, 16, 16, 16, 16, 16, 16], num_classes=5), (1, 3, 64, 64), "patches between convolutions"),
    ("nest", "NesT", dict(image_size=32, patch_size=4, dim=16, heads=2, num_hierarchies=2, block_repeats=(1, 1), num_classes=5), None, "blocks of attention"),
    ("regionvit", "RegionViT", dict(dim=(8, 16, 32, 64), depth=(1, 1, 1, 1), window_size=2, num_classes=5), (1, 3, 64, 64), "regional tokens"),
    ("scalable_vit", "ScalableViT", dict(num_classes=5, dim=8, heads=(1, 2), depth=(1, 1), ssa_dim_key=(8, 8), reduction_factor=(2, 2), window_size=(4, None)), (1, 3, 64, 64), "scalable windows"),
    ("twins_svt", "TwinsSVT", dict(num_classes=5, s1_emb_dim=8, s1_patch_size=4, s1_local_patch_size=4, s1_global_k=4, s1_depth=1, s2_emb_dim=8, s2_patch_size=2, s2_local_patch_size=4,
                                   s2_global_k=4, s2_depth=1, s3_emb_dim=8, s3_patch_size=2, s3_local_patch_size=2, s3_global_k=2, s3_depth=1, s4_emb_dim=8, s4_patch_size=2,
                                   s4_local_patch_size=1, s4_global_k=1, s4_depth=1), (1, 3, 64, 64), "local and global attention"),
    ("xcit", "XCiT", {**PLAIN, "cls_depth": 1}, None, "covariance of channels"), ("jumbo_vit", "JumboViT", {**PLAIN, "num_jumbo_cls": 1, "jumbo_cls_k": 2}, None, "a wide class token"),
    ("simple_uvit", "SimpleUViT", PLAIN, None, "long skips"), ("vit_1d", "ViT", dict(seq_len=64, patch_size=8, num_classes=5, dim=32, depth=2, heads=2, mlp_dim=32), (1, 3, 64), "series"),
)
VIDEO = (("vivit", "ViViT", {**{key: value for key, value in FRAMES.items() if key != "depth"}, "spatial_depth": 1, "temporal_depth": 1}, "space, then time"),
         ("vit_3d", "ViT", FRAMES, "patches of frames"), ("simple_vit_3d", "SimpleViT", FRAMES, "sinusoids of three axes"),
         ("cct_3d", "CCT", dict(img_size=32, num_frames=4, embedding_dim=32, n_conv_layers=1, frame_kernel_size=3, num_layers=1, num_heads=2, mlp_ratio=1, num_classes=5), "3-D tokens"))


def rows_of_vit_pytorch():
    importlib.import_module("vit_pytorch")

    def make(module, kind, arguments, inputs):
        return lambda: (getattr(importlib.import_module(f"vit_pytorch.{module}"), kind)(**arguments), inputs())

    for module, kind, arguments, shape, cause in VARIANTS:
        yield Network("vision", f"vit_pytorch_{module}", cause, make(module, kind, arguments, lambda shape=shape: (torch.randn(shape),) if shape else image(32)))
    for module, kind, arguments, cause in VIDEO:
        yield Network("video", f"vit_pytorch_{module}", cause, make(module, kind, arguments, lambda: (torch.randn(1, 3, 4, 32, 32),)))


def rows_of_x_transformers():
    import x_transformers as x

    def decoder(options, **wrapper):
        return lambda: (x.TransformerWrapper(num_tokens=64, max_seq_len=32, attn_layers=x.Decoder(dim=32, depth=2, heads=2, attn_dim_head=16, **options), **wrapper),
                        (torch.randint(0, 64, (1, 12)),))

    table = (("rotary", dict(rotary_pos_emb=True), "rotary positions"), ("xpos", dict(rotary_xpos=True), "rotation with decay"), ("alibi", dict(alibi_pos_bias=True), "linear biases"),
             ("t5", dict(rel_pos_bias=True), "buckets of distances"), ("dynamic", dict(dynamic_pos_bias=True), "a perceptron over distances"),
             ("rmsnorm", dict(use_rmsnorm=True, ff_glu=True), "RMS norm, gated perceptron"), ("scalenorm", dict(use_scalenorm=True, ff_relu_squared=True), "one scale, squared ReLU"),
             ("dynamic_tanh", dict(use_dynamic_tanh=True), "tanh instead of norm"), ("macaron", dict(macaron=True), "half perceptrons on both sides"),
             ("sandwich", dict(sandwich_coef=1), "another order of layers"), ("residual_attention", dict(residual_attn=True), "scores of the layer before"),
             ("gated_residual", dict(gate_residual=True), "GRU between layers"), ("post_norm", dict(pre_norm=False), "norms after layers"),
             ("one_key_head", dict(attn_kv_heads=1), "one head of keys"), ("memory", dict(attn_num_mem_kv=4), "learned keys and values"),
             ("topk", dict(attn_sparse_topk=4), "the largest scores only"), ("talking", dict(attn_pre_talking_heads=True, attn_post_talking_heads=True), "mixing of heads"),
             ("gated_values", dict(attn_gate_values=True), "gates on values"), ("qk_norm", dict(attn_qk_norm=True), "cosine similarity"),
             ("shifted", dict(shift_tokens=1), "channels from the token before"), ("softclamp", dict(attn_softclamp_logits=True), "clamped scores"),
             ("laser", dict(attn_laser=True), "exponents of values"), ("selective", dict(attn_selective=True), "a head that masks others"),
             ("differential", dict(attn_add_zero_kv=True), "a zero key"), ("forgetting", dict(attn_data_dependent_alibi=True), "biases from the data"))
    for name, options, cause in table:
        yield Network("language", f"x_transformers_{name}", cause, decoder(options))
    yield Network("language", "x_transformers_memory_tokens", "tokens of memory", decoder({}, num_memory_tokens=4))
    yield Network("language", "x_transformers_absolute", "learned positions, l2-normed embeddings", decoder({}, l2norm_embed=True, post_emb_norm=True))
    yield Network("language", "x_transformers_encoder_decoder", "cross attention",
                  lambda: (Pair(x), (torch.randint(0, 64, (1, 12)), torch.randint(0, 64, (1, 6)))))
    yield Network("vision", "x_transformers_vision", "an encoder over patches",
                  lambda: (x.ViTransformerWrapper(image_size=32, patch_size=8, num_classes=5, attn_layers=x.Encoder(dim=32, depth=2, heads=2, attn_dim_head=16)), image(32)))
    yield Network("language", "x_transformers_continuous", "vectors in, vectors out",
                  lambda: (x.ContinuousTransformerWrapper(dim_in=8, dim_out=6, max_seq_len=32, attn_layers=x.Encoder(dim=32, depth=2, heads=2)), (torch.randn(1, 12, 8),)))


class Pair(torch.nn.Module):
    def __init__(self, x):
        super().__init__()
        layers = dict(dim=32, depth=1, heads=2, attn_dim_head=16)
        self.encoder = x.TransformerWrapper(num_tokens=64, max_seq_len=32, attn_layers=x.Encoder(**layers))
        self.decoder = x.TransformerWrapper(num_tokens=64, max_seq_len=32, attn_layers=x.Decoder(cross_attend=True, **layers))

    def forward(self, source, target):
        return self.decoder(target, context=self.encoder(source, return_embeddings=True))
