# SPDX-License-Identifier: Apache-2.0
"""Rows of diffusers: denoising networks, autoencoders, steps of schedulers."""
import torch
from network import Method, Network, image

ONE_STEP = torch.tensor([7])
BLOCKS = dict(block_out_channels=(16, 32), norm_num_groups=4)


def text(length=4, width=16):
    return torch.randn(1, length, width)


def rows_of_diffusers():
    import diffusers as d

    noisy = lambda size=16, channels=4: torch.randn(1, channels, size, size)  # noqa: E731
    down, up = ("DownBlock2D", "AttnDownBlock2D"), ("AttnUpBlock2D", "UpBlock2D")
    conditioned = dict(**BLOCKS, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), cross_attention_dim=16, attention_head_dim=8)
    table = (
        ("unet2d", "time embedding, attention between convolutions",
         lambda: (d.UNet2DModel(sample_size=16, in_channels=3, out_channels=3, layers_per_block=1, down_block_types=down, up_block_types=up, **BLOCKS),
                  {"sample": image(16)[0], "timestep": ONE_STEP})),
        ("unet2d_conditioned", "cross attention to a text", lambda: (d.UNet2DConditionModel(sample_size=16, layers_per_block=1, up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
                                                                                          **conditioned),
                                                                     {"sample": noisy(), "timestep": ONE_STEP, "encoder_hidden_states": text()})),
        ("unet3d", "convolutions over time", lambda: (d.UNet3DConditionModel(sample_size=8, layers_per_block=1, down_block_types=("CrossAttnDownBlock3D", "DownBlock3D"),
                                                                             up_block_types=("UpBlock3D", "CrossAttnUpBlock3D"), cross_attention_dim=16, attention_head_dim=8, **BLOCKS),
                                                      {"sample": torch.randn(1, 4, 2, 8, 8), "timestep": ONE_STEP, "encoder_hidden_states": text()})),
        ("unet_motion", "temporal attention", lambda: (d.UNetMotionModel(sample_size=8, layers_per_block=1, down_block_types=("CrossAttnDownBlockMotion", "DownBlockMotion"),
                                                                         up_block_types=("UpBlockMotion", "CrossAttnUpBlockMotion"), cross_attention_dim=16, num_attention_heads=2,
                                                                         motion_num_attention_heads=2, motion_max_seq_length=32, **BLOCKS),
                                                       {"sample": torch.randn(1, 4, 2, 8, 8), "timestep": ONE_STEP, "encoder_hidden_states": torch.randn(2, 4, 16)})),
        ("controlnet", "zero convolutions, a hint image", lambda: (d.ControlNetModel(layers_per_block=1, conditioning_embedding_out_channels=(8, 8), **conditioned),
                                                                   {"sample": noisy(), "timestep": ONE_STEP, "encoder_hidden_states": text(), "controlnet_cond": image(32)[0]})),
        ("vae", "encoder and decoder of latents", lambda: (d.AutoencoderKL(down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
                                                                           latent_channels=4, **BLOCKS), image(32))),
        ("vae_tiny", "an autoencoder of ReLUs", lambda: (d.AutoencoderTiny(encoder_block_out_channels=(16, 16), decoder_block_out_channels=(16, 16), num_encoder_blocks=(1, 1),
                                                                           num_decoder_blocks=(1, 1), upsampling_scaling_factor=2), image(32))),
        ("vae_asymmetric", "a larger decoder", lambda: (Method(d.AsymmetricAutoencoderKL(down_block_types=("DownEncoderBlock2D",), down_block_out_channels=(16,), up_block_types=("UpDecoderBlock2D",),
                                                                                         up_block_out_channels=(16,), norm_num_groups=4), "decode"), (noisy(8),))),
        ("vae_dc", "pixel unshuffle, linear attention", lambda: (d.AutoencoderDC(3, 4, 8, encoder_block_types=("ResBlock", "EfficientViTBlock"), decoder_block_types=("ResBlock", "EfficientViTBlock"),
                                                                                 encoder_block_out_channels=(8, 16), decoder_block_out_channels=(8, 16), encoder_layers_per_block=(1, 1),
                                                                                 decoder_layers_per_block=(1, 1), encoder_qkv_multiscales=((), (5,)), decoder_qkv_multiscales=((), (5,)),
                                                                                 decoder_norm_types="rms_norm", decoder_act_fns="silu"), image(32))),
        ("vae_temporal", "a decoder over frames", lambda: (d.AutoencoderKLTemporalDecoder(down_block_types=("DownEncoderBlock2D",), block_out_channels=(32,), layers_per_block=1),
                                                           {"sample": torch.randn(2, 3, 16, 16), "num_frames": 2})),
        ("vq", "nearest codes of an image", lambda: (d.VQModel(block_out_channels=(16,), norm_num_groups=4, num_vq_embeddings=16, vq_embed_dim=4, latent_channels=4), image(16))),
        ("vae_wave", "snake activations over a wave", lambda: (Method(d.AutoencoderOobleck(encoder_hidden_size=8, downsampling_ratios=[2, 4], channel_multiples=[1, 2], decoder_channels=8,
                                                                                          decoder_input_channels=8), "decode"), (torch.randn(1, 8, 8),))),
        ("vae_wan", "causal convolutions over time", lambda: (d.AutoencoderKLWan(base_dim=8, z_dim=4, dim_mult=[1, 2], num_res_blocks=1, temperal_downsample=[False], latents_mean=[0.0] * 4,
                                                                                 latents_std=[1.0] * 4), (torch.randn(1, 3, 1, 16, 16),))),
        ("dit", "norms modulated by a class", lambda: (d.DiTTransformer2DModel(num_attention_heads=2, attention_head_dim=8, in_channels=4, num_layers=1, sample_size=8, norm_num_groups=4,
                                                                               num_embeds_ada_norm=10),
                                                       {"hidden_states": noisy(8), "timestep": ONE_STEP, "class_labels": torch.tensor([3])})),
        ("pixart", "one modulation for all layers", lambda: (d.PixArtTransformer2DModel(num_attention_heads=2, attention_head_dim=8, in_channels=4, out_channels=8, num_layers=1, cross_attention_dim=16,
                                                                                       sample_size=8, caption_channels=16, norm_num_groups=4),
                                                             {"hidden_states": noisy(8), "encoder_hidden_states": text(), "timestep": ONE_STEP})),
        ("sd3", "text and image tokens in joint attention", lambda: (d.SD3Transformer2DModel(sample_size=8, patch_size=2, in_channels=4, num_layers=2, attention_head_dim=8, num_attention_heads=2,
                                                                                           joint_attention_dim=16, caption_projection_dim=16, pooled_projection_dim=8, out_channels=4),
                                                                     {"hidden_states": noisy(8), "encoder_hidden_states": text(), "pooled_projections": torch.randn(1, 8), "timestep": ONE_STEP})),
        ("flux", "rotary positions of three axes", lambda: (d.FluxTransformer2DModel(patch_size=1, in_channels=4, num_layers=1, num_single_layers=1, attention_head_dim=16, num_attention_heads=2,
                                                                                    joint_attention_dim=16, pooled_projection_dim=8, axes_dims_rope=[4, 4, 8]),
                                                            {"hidden_states": torch.randn(1, 16, 4), "encoder_hidden_states": text(), "pooled_projections": torch.randn(1, 8),
                                                             "timestep": torch.tensor([0.5]), "img_ids": torch.randint(0, 4, (16, 3)).float(), "txt_ids": torch.zeros(4, 3)})),
        ("sana", "linear attention, gated convolutions", lambda: (d.SanaTransformer2DModel(in_channels=4, out_channels=4, num_layers=1, num_attention_heads=2, attention_head_dim=8, num_cross_attention_heads=2,
                                                                                          cross_attention_head_dim=8, cross_attention_dim=16, caption_channels=16, sample_size=8),
                                                                  {"hidden_states": noisy(8), "encoder_hidden_states": text(), "timestep": ONE_STEP})),
        ("auraflow", "registers, parallel streams", lambda: (d.AuraFlowTransformer2DModel(sample_size=8, in_channels=4, num_mmdit_layers=1, num_single_dit_layers=1, attention_head_dim=8,
                                                                                         num_attention_heads=2, joint_attention_dim=16, caption_projection_dim=16, pos_embed_max_size=64),
                                                             {"hidden_states": noisy(8), "encoder_hidden_states": text(), "timestep": torch.tensor([0.5])})),
        ("wan", "rotary positions over time and space", lambda: (d.WanTransformer3DModel(num_attention_heads=2, attention_head_dim=12, in_channels=4, out_channels=4, text_dim=16, freq_dim=16, ffn_dim=32,
                                                                                        num_layers=1),
                                                                 {"hidden_states": torch.randn(1, 4, 2, 8, 8), "timestep": ONE_STEP, "encoder_hidden_states": text()})),
        ("cogvideo", "one sequence of text and frames", lambda: (d.CogVideoXTransformer3DModel(num_attention_heads=2, attention_head_dim=16, in_channels=4, out_channels=4, time_embed_dim=8, text_embed_dim=16,
                                                                                             num_layers=1, sample_width=8, sample_height=8, sample_frames=5, max_text_seq_length=4),
                                                                 {"hidden_states": torch.randn(1, 2, 4, 8, 8), "encoder_hidden_states": text(), "timestep": ONE_STEP})),
        ("latte", "attention over frames", lambda: (d.LatteTransformer3DModel(num_attention_heads=2, attention_head_dim=8, in_channels=4, out_channels=8, num_layers=1, cross_attention_dim=16, sample_size=8,
                                                                              caption_channels=16, video_length=2, patch_size=2),
                                                    {"hidden_states": torch.randn(1, 4, 2, 8, 8), "timestep": ONE_STEP, "encoder_hidden_states": text()})),
        ("uvit", "tokens of an image, masked", lambda: (d.UVit2DModel(hidden_size=16, cond_embed_dim=8, micro_cond_encode_dim=8, micro_cond_embed_dim=40, encoder_hidden_size=16, vocab_size=16, codebook_size=12,
                                                                     in_channels=16, block_out_channels=16, num_res_blocks=1, num_hidden_layers=1, num_attention_heads=2, sample_size=4),
                                                        {"input_ids": torch.randint(0, 12, (1, 4, 4)), "encoder_hidden_states": text(), "pooled_text_emb": torch.randn(1, 8),
                                                         "micro_conds": torch.randn(1, 5)})),
        ("prior", "predicts an embedding", lambda: (d.PriorTransformer(num_attention_heads=2, attention_head_dim=8, num_layers=1, embedding_dim=8, num_embeddings=4, additional_embeddings=4),
                                                    {"hidden_states": torch.randn(1, 8), "timestep": ONE_STEP, "proj_embedding": torch.randn(1, 8), "encoder_hidden_states": torch.randn(1, 4, 8)})),
        ("stable_audio", "a transformer of sound latents", lambda: (d.StableAudioDiTModel(sample_size=16, in_channels=4, num_layers=1, attention_head_dim=8, num_attention_heads=2, num_key_value_attention_heads=2,
                                                                                         out_channels=4, cross_attention_dim=16, time_proj_dim=8, global_states_input_dim=8, cross_attention_input_dim=16),
                                                                    {"hidden_states": torch.randn(1, 4, 16), "timestep": torch.tensor([0.5]), "encoder_hidden_states": text(),
                                                                     "global_hidden_states": torch.randn(1, 1, 8)})),
    )
    for name, cause, make in table:
        yield Network("generative", f"diffusers_{name}", cause, make)
    for name in ("DDIM", "PNDM", "EulerDiscrete", "DPMSolverMultistep", "FlowMatchEulerDiscrete"):
        yield Network("generative", f"diffusers_{name.lower()}_step", "one step of a scheduler",
                      lambda name=name: (Step(getattr(d, f"{name}Scheduler")()), (torch.randn(1, 4, 8, 8), torch.randn(1, 4, 8, 8))))


class Step(torch.nn.Module):
    """The first step of ten: what a network predicted, and a noisy sample, become a less noisy one."""

    def __init__(self, scheduler):
        super().__init__()
        self.scheduler = scheduler
        scheduler.set_timesteps(10)

    def forward(self, predicted, sample):
        self.scheduler.set_timesteps(10)
        return self.scheduler.step(predicted, self.scheduler.timesteps[0], sample, return_dict=False)[0]
