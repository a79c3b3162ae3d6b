# SPDX-License-Identifier: Apache-2.0
"""Rows of segmentation_models_pytorch and of small packages of one idea each."""
import torch
from network import Function, Method, Network, image, tokens


def rows_of_segmentation_models_pytorch():
    import segmentation_models_pytorch as smp
    for name, cause in (("Unet", "skips of a classifier"), ("UnetPlusPlus", "nested skips"), ("FPN", "feature pyramid"), ("PSPNet", "pyramid of pools"), ("DeepLabV3Plus", "dilated separable convolutions"),
                        ("Linknet", "sums of skips"), ("MAnet", "attention over positions"), ("PAN", "attention of a pyramid"), ("UPerNet", "pyramids of both kinds"), ("Segformer", "a perceptron over levels")):
        yield Network("vision", f"smp_{name.lower()}", cause, lambda name=name: (getattr(smp, name)("resnet18", encoder_weights=None, classes=3), image(128 if name == "PAN" else 64)))


def rows_of_perceiver_pytorch():
    import perceiver_pytorch as p
    small = dict(num_latents=8, latent_dim=16, cross_dim_head=8, latent_dim_head=8, latent_heads=2)
    yield Network("vision", "perceiver_perceiver", "latents that read pixels", lambda: (p.Perceiver(num_freq_bands=4, depth=1, max_freq=10.0, num_classes=5, **small), (torch.randn(1, 16, 16, 3),)))
    yield Network("language", "perceiver_io", "queries that read latents",
                  lambda: (p.PerceiverIO(dim=8, queries_dim=8, logits_dim=5, depth=1, **small), {"data": torch.randn(1, 20, 8), "queries": torch.randn(1, 6, 8)}))


def rows_of_linear_attention():
    import linformer
    import performer_pytorch as performer
    yield Network("language", "performer_lm", "random features of attention", lambda: (performer.PerformerLM(num_tokens=64, max_seq_len=16, dim=32, depth=1, heads=2, dim_head=16, nb_features=16), tokens(16, 64)))
    yield Network("language", "performer_causal", "prefix sums of features", lambda: (performer.PerformerLM(num_tokens=64, max_seq_len=16, dim=32, depth=1, heads=2, dim_head=16, nb_features=16, causal=True), tokens(16, 64)))
    yield Network("language", "linformer_linformer", "projected keys", lambda: (linformer.Linformer(32, 16, 2, k=8, heads=2), (torch.randn(1, 16, 32),)))


def rows_of_local_attention():
    import local_attention
    yield Network("language", "local_attention_transformer", "windows of a sequence",
                  lambda: (local_attention.LocalTransformer(num_tokens=64, dim=32, depth=1, max_seq_len=32, local_attn_window_size=8, heads=2, dim_head=16), tokens(32, 64)))
    yield Network("language", "local_attention_xpos", "windows with decaying rotation",
                  lambda: (local_attention.LocalTransformer(num_tokens=64, dim=32, depth=1, max_seq_len=32, local_attn_window_size=8, heads=2, dim_head=16, use_xpos=True, xpos_scale_base=8), tokens(32, 64)))


def rows_of_perceptrons():
    import g_mlp_pytorch as gmlp
    import mlp_mixer_pytorch as mixer
    yield Network("language", "gmlp_causal", "triangular spatial weights", lambda: (gmlp.gMLP(num_tokens=64, dim=32, depth=2, seq_len=16, causal=True), tokens(16, 64)))
    yield Network("language", "gmlp_circulant", "circulant spatial weights", lambda: (gmlp.gMLP(num_tokens=64, dim=32, depth=1, seq_len=16, circulant_matrix=True, act=torch.nn.Tanh()), tokens(16, 64)))
    yield Network("vision", "mixer_mixer", "perceptrons over patches", lambda: (mixer.MLPMixer(image_size=32, channels=3, patch_size=8, dim=32, depth=2, num_classes=5), image(32)))
    yield Network("vision", "mixer_permutator", "rows, columns and channels", lambda: (mixer.Permutator(image_size=32, patch_size=8, dim=32, depth=1, num_classes=5, segments=8), image(32)))
    yield Network("video", "mixer_3d", "perceptrons over frames", lambda: (mixer.MLPMixer3D(image_size=32, time_size=4, time_patch_size=2, channels=3, patch_size=8, dim=32, depth=1, num_classes=5), (torch.randn(1, 3, 4, 32, 32),)))


def rows_of_timesformer_pytorch():
    import timesformer_pytorch
    yield Network("video", "timesformer_rotary", "rotary positions over frames", lambda: (timesformer_pytorch.TimeSformer(dim=32, num_frames=2, num_classes=5, image_size=32, patch_size=8, depth=1, heads=2, dim_head=16),
                                                                                         (torch.randn(1, 2, 3, 32, 32),)))


def rows_of_pytorchvideo():
    from pytorchvideo.models import resnet, x3d
    yield Network("video", "pytorchvideo_x3d", "depthwise convolutions over time", lambda: (x3d.create_x3d(input_clip_length=4, input_crop_size=32, model_num_class=5, stem_dim_in=8), (torch.randn(1, 3, 4, 32, 32),)))
    yield Network("video", "pytorchvideo_slow", "one pathway", lambda: (resnet.create_resnet(model_depth=50, model_num_class=5, stem_dim_out=8, head_pool_kernel_size=(4, 2, 2)), (torch.randn(1, 3, 4, 64, 64),)))


def rows_of_denoising_diffusion():
    import denoising_diffusion_pytorch as dd
    import video_diffusion_pytorch as vd
    noise = lambda: (torch.randn(1, 3, 16, 16), torch.tensor([3]))  # noqa: E731
    yield Network("generative", "ddpm_unet", "linear attention between convolutions", lambda: (dd.Unet(8, dim_mults=(1, 2), attn_dim_head=8, attn_heads=2), noise()))
    yield Network("generative", "ddpm_unet1d", "diffusion over a series", lambda: (dd.Unet1D(8, dim_mults=(1, 2), channels=2, attn_dim_head=8, attn_heads=2), (torch.randn(1, 2, 32), torch.tensor([3]))))
    yield Network("generative", "ddpm_karras", "magnitude-preserving layers", lambda: (dd.KarrasUnet(image_size=16, dim=8, dim_max=16, channels=3, num_downsamples=1, num_blocks_per_stage=1, attn_res=(8,), attn_dim_head=8, dropout=0.0),
                                                                                     (torch.randn(1, 3, 16, 16), torch.tensor([0.5]))))
    yield Network("video", "video_diffusion_unet3d", "attention over frames with relative positions", lambda: (vd.Unet3D(8, dim_mults=(1, 2), attn_heads=2, attn_dim_head=8), (torch.randn(1, 3, 2, 16, 16), torch.tensor([3]))))


def rows_of_vector_quantize():
    import vector_quantize_pytorch as vq
    for name, cause, make in (("vq", "nearest code", lambda: vq.VectorQuantize(8, 16)), ("cosine", "nearest direction", lambda: vq.VectorQuantize(8, 16, use_cosine_sim=True)),
                              ("fsq", "rounded levels", lambda: vq.FSQ([5, 5, 3], dim=8)), ("lfq", "signs as codes", lambda: vq.LFQ(codebook_size=16, dim=8)),
                              ("residual", "codes of what is left", lambda: vq.ResidualVQ(dim=8, num_quantizers=2, codebook_size=16)), ("simvq", "one linear map of codes", lambda: vq.SimVQ(8, 16))):
        yield Network("generative", f"vector_quantize_{name}", cause, lambda make=make: (make(), (torch.randn(1, 12, 8),)))


def rows_of_sequences():
    import colt5_attention
    import mambapy.mamba as mamba
    import reformer_pytorch as reformer
    from pytorch_tcn import TCN
    yield Network("language", "mambapy_mamba", "scan as a parallel tree", lambda: (mamba.Mamba(mamba.MambaConfig(d_model=16, n_layers=1, d_state=4)), (torch.randn(1, 8, 16),)))
    yield Network("language", "mambapy_sequential", "scan step by step", lambda: (mamba.Mamba(mamba.MambaConfig(d_model=16, n_layers=1, d_state=4, pscan=False)), (torch.randn(1, 8, 16),)))
    yield Network("audio", "tcn_tcn", "dilated causal convolutions", lambda: (TCN(4, [8, 8], kernel_size=3), (torch.randn(1, 4, 20),)))
    yield Network("language", "reformer_lm", "hashed attention", lambda: (reformer.ReformerLM(num_tokens=64, dim=16, depth=1, max_seq_len=32, heads=2, dim_head=8, bucket_size=8, n_hashes=2), tokens(32, 64)),
                  remark="hashes by random rotations")
    yield Network("language", "colt5_feedforward", "heavy layers for chosen tokens", lambda: (colt5_attention.ConditionalRoutedFeedForward(16, num_heavy_tokens=4, light_ff_mult=0.5, heavy_ff_mult=2), (torch.randn(1, 16, 16),)))


def rows_of_measures():
    import piq
    import torch_dct as dct
    from pytorch_msssim import ms_ssim, ssim
    pair = lambda size=64: (torch.rand(1, 3, size, size), torch.rand(1, 3, size, size))  # noqa: E731
    for name, cause, function in (("fsim", "phase congruency: Fourier filters", piq.fsim), ("gmsd", "deviation of gradients", piq.gmsd), ("vsi", "saliency", piq.vsi), ("haarpsi", "Haar wavelets", piq.haarpsi),
                                  ("mdsi", "gradients and chroma", piq.mdsi), ("vif", "information of scales", piq.vif_p), ("srsim", "spectral residual", piq.srsim), ("tv", "total variation", lambda a, b: piq.total_variation(a)),
                                  ("dss", "blocks of cosines", piq.dss), ("iwssim", "weights from eigenvalues", lambda a, b: piq.information_weighted_ssim(a, b, data_range=1.0))):
        size = 192 if name == "iwssim" else 64
        yield Network("vision", f"piq_{name}", cause, lambda function=function, size=size: (Function(function), pair(size)), tolerance=5e-4)
    yield Network("vision", "msssim_ssim", "grouped Gaussian filters", lambda: (Function(lambda a, b: ssim(a, b, data_range=1.0)), pair()), tolerance=2e-4)
    yield Network("vision", "msssim_ms_ssim", "powers of five scales", lambda: (Function(lambda a, b: ms_ssim(a, b, data_range=1.0)), pair(192)), tolerance=2e-4)
    yield Network("audio", "torch_dct_dct", "cosine transform by a Fourier transform", lambda: (Function(lambda x: (dct.dct(x), dct.idct(x), dct.dct_2d(x))), (torch.randn(4, 16),)))


def rows_of_pairs():
    import open_clip
    import x_clip
    shapes = dict(embed_dim=16, vision_cfg=dict(image_size=32, layers=2, width=32, head_width=16, patch_size=8), text_cfg=dict(context_length=12, vocab_size=64, width=32, heads=2, layers=2))
    yield Network("vision", "open_clip_clip", "an image and a text", lambda: (open_clip.CLIP(**shapes), (image(32)[0], tokens(12, 60)[0])))
    yield Network("vision", "open_clip_resnet", "attention instead of the last pool",
                  lambda: (Method(open_clip.CLIP(**{**shapes, "vision_cfg": dict(image_size=64, layers=[1, 1, 1, 1], width=8, head_width=16)}), "encode_image"), image(64)))
    yield Network("vision", "x_clip_clip", "similarity of towers", lambda: (x_clip.CLIP(dim_text=32, dim_image=32, dim_latent=16, num_text_tokens=64, text_enc_depth=1, text_seq_len=12, text_heads=2, visual_enc_depth=1,
                                                                                 visual_heads=2, visual_image_size=32, visual_patch_size=8), (tokens(12, 60)[0], image(32)[0])))


def rows_of_segment_anything():
    from segment_anything.modeling import ImageEncoderViT, TwoWayTransformer
    yield Network("vision", "sam_encoder", "windows with relative positions", lambda: (ImageEncoderViT(img_size=64, patch_size=8, embed_dim=32, depth=2, num_heads=2, out_chans=16, use_rel_pos=True, window_size=4, global_attn_indexes=(1,)), image(64)))
    yield Network("vision", "sam_two_way", "attention in both directions", lambda: (TwoWayTransformer(1, 16, 2, 32), (torch.randn(1, 16, 4, 4), torch.randn(1, 16, 4, 4), torch.randn(1, 3, 16))))


def rows_of_older_packages():
    import efficientnet_pytorch
    import pretrainedmodels
    yield Network("vision", "efficientnet_pytorch_b0", "convolutions padded on one side", lambda: (efficientnet_pytorch.EfficientNet.from_name("efficientnet-b0", num_classes=5, image_size=64), image(64)))
    for name, size, cause in (("bninception", 96, "inception with batch norms"), ("se_resnet50", 64, "gates"), ("nasnetamobile", 96, "searched cells"), ("xception", 96, "separable convolutions"),
                              ("dpn68", 64, "two paths")):
        yield Network("vision", f"pretrainedmodels_{name}", cause, lambda name=name, size=size: (Features(pretrainedmodels.__dict__[name](num_classes=1000, pretrained=None)), image(size)))


class Features(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model.features(x)
