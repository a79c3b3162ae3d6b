# SPDX-License-Identifier: Apache-2.0
"""Rows of monai: networks of volumes."""
import torch
from network import Network


def volume(size=32, channels=1):
    return (torch.randn(1, channels, size, size, size),)


def rows_of_monai():
    from monai.networks import nets

    three = dict(spatial_dims=3, in_channels=1, out_channels=2)
    levels = dict(channels=(4, 8, 16), strides=(2, 2))
    steps = dict(num_res_blocks=(1, 1), channels=(8, 16), norm_num_groups=4)
    strides = [[1, 1, 1], [2, 2, 2], [2, 2, 2]]
    table = (
        ("unet", "transposed convolutions in three dimensions, PReLU", lambda: (nets.UNet(**three, **levels, num_res_units=1), volume())),
        ("basic_unet", "leaky ReLU and instance norm", lambda: (nets.BasicUNet(**three, features=(4, 4, 8, 8, 8, 4)), volume())),
        ("basic_unet_plus", "nested skips", lambda: (nets.BasicUNetPlusPlus(**three, features=(4, 4, 8, 8, 8, 4)), volume())),
        ("attention_unet", "gates at the skips", lambda: (nets.AttentionUnet(**three, **levels), volume())),
        ("segresnet", "group norm, trilinear upsampling", lambda: (nets.SegResNet(spatial_dims=3, init_filters=8, blocks_down=(1, 1), blocks_up=(1,)), volume(16))),
        ("segresnet_vae", "a variational branch", lambda: (nets.SegResNetVAE((16, 16, 16), init_filters=8, blocks_down=(1, 1), blocks_up=(1,)), volume(16))),
        ("vnet", "ELU, strided convolutions", lambda: (nets.VNet(), volume(32))),
        ("dynunet", "kernels and strides of each level",
         lambda: (nets.DynUNet(3, 1, 2, [[3, 3, 3]] * 3, strides, strides[1:], filters=[4, 8, 16]), volume())),
        ("dynunet_anisotropic", "kernels of 1x3x3", lambda: (nets.DynUNet(3, 1, 2, [[1, 3, 3], [3, 3, 3], [3, 3, 3]], [[1, 1, 1], [1, 2, 2], [2, 2, 2]], [[1, 2, 2], [2, 2, 2]],
                                                                          filters=[4, 8, 16], deep_supervision=False, res_block=True), volume(16))),
        ("swin_unetr", "shifted windows in three dimensions", lambda: (nets.SwinUNETR(1, 2, depths=(1, 1, 1, 1), num_heads=(1, 2, 2, 2), window_size=4, feature_size=12), volume(64))),
        ("unetr", "patches of a volume", lambda: (nets.UNETR(1, 2, 32, feature_size=4, hidden_size=24, mlp_dim=32, num_heads=2), volume())),
        ("vit", "a classifier of volumes", lambda: (nets.ViT(1, 16, 8, hidden_size=24, mlp_dim=32, num_layers=2, num_heads=2, classification=True), volume(16))),
        ("vit_autoencoder", "transposed convolutions of patches", lambda: (nets.ViTAutoEnc(1, 16, 4, hidden_size=24, mlp_dim=32, num_layers=2, num_heads=2), volume(16))),
        ("highresnet", "dilations in three dimensions", lambda: (nets.HighResNet(), volume(16))),
        ("mednext", "large depthwise kernels", lambda: (nets.MedNeXt(3, 4, 1, 2, kernel_size=5, blocks_down=(1, 1), blocks_bottleneck=1, blocks_up=(1, 1)), volume(16))),
        ("segresnet_ds", "several outputs", lambda: (nets.SegResNetDS(3, 8, 1, 2, blocks_down=(1, 1), dsdepth=2), volume(16))),
        ("densenet", "dense blocks of volumes", lambda: (nets.DenseNet(3, 1, 3, init_features=8, growth_rate=4, block_config=(2, 2)), volume(32))),
        ("resnet", "residual blocks of volumes", lambda: (nets.resnet10(spatial_dims=3, n_input_channels=1, num_classes=3), volume(32))),
        ("seresnet", "gates in 2-D", lambda: (nets.SEResNet50(spatial_dims=2, in_channels=3, num_classes=3), (torch.randn(1, 3, 64, 64),))),
        ("efficientnet", "SiLU over volumes", lambda: (nets.EfficientNetBN("efficientnet-b0", pretrained=False, spatial_dims=3, in_channels=1, num_classes=3), volume(32))),
        ("autoencoder", "encoder and decoder", lambda: (nets.AutoEncoder(3, 1, 1, channels=(4, 8), strides=(2, 2)), volume(16))),
        ("generator", "from a vector to a volume", lambda: (nets.Generator((8,), (4, 2, 2, 2), (8, 4, 1), (2, 2, 1)), (torch.randn(1, 8),))),
        ("discriminator", "from a volume to a number", lambda: (nets.Discriminator((1, 16, 16, 16), (4, 8), (2, 2)), volume(16))),
        ("patch_discriminator", "scores of patches", lambda: (nets.PatchDiscriminator(3, 4, 1, num_layers_d=2), volume(32))),
        ("reg_unet", "displacement of a volume", lambda: (nets.RegUNet(3, 1, 4, 2), volume(16))),
        ("local_net", "sums of resampled levels", lambda: (nets.LocalNet(3, 1, 4, (0, 1, 2)), volume(16))),
        ("global_net", "affine grid of three dimensions", lambda: (nets.GlobalNet([16, 16, 16], 3, 1, 4, 2), volume(16))),
        ("quicknat", "unpooling by indices", lambda: (nets.Quicknat(3, 1, 8), (torch.randn(1, 1, 32, 32),))),
        ("hovernet", "three decoders of one encoder", lambda: (nets.HoVerNet(mode="fast"), (torch.randn(1, 3, 256, 256),))),
        ("flexible_unet", "a classifier as encoder", lambda: (nets.FlexibleUNet(3, 2, "efficientnet-b0"), (torch.randn(1, 3, 64, 64),))),
        ("vista3d_mapper", "a network over tokens", lambda: (nets.TorchVisionFCModel("resnet18", num_classes=3, pretrained=False, use_conv=True, pool=None),
                                                             (torch.randn(1, 3, 64, 64),))),
        ("decoder_transformer", "a decoder of codes", lambda: (nets.DecoderOnlyTransformer(16, 8, 16, 2, 2), (torch.randint(0, 16, (1, 8)),))),
    )
    for name, cause, make in table:
        yield Network("3d", f"monai_{name}", cause, make)
    generative = (
        ("diffusion_unet", "steps of a diffusion over volumes", lambda: (nets.DiffusionModelUNet(3, 1, 1, attention_levels=(False, True), num_head_channels=8, **steps),
                                                                        (torch.randn(1, 1, 8, 8, 8), torch.tensor([3])))),
        ("autoencoder_kl", "a decoder of latent volumes", lambda: (Decoded(nets.AutoencoderKL(3, attention_levels=(False, True), **steps)), (torch.randn(1, 3, 4, 4, 4),))),
        ("vqvae", "nearest codes of a volume", lambda: (nets.VQVAE(3, 1, 1, channels=(8, 8), num_res_layers=1, num_res_channels=(8, 8), downsample_parameters=((2, 4, 1, 1),) * 2,
                                                                   upsample_parameters=((2, 4, 1, 1, 0),) * 2, num_embeddings=16, embedding_dim=8), volume(16))),
        ("controlnet", "residuals for another network", lambda: (nets.ControlNet(2, 1, attention_levels=(False, True), num_head_channels=8, conditioning_embedding_in_channels=1,
                                                                                 conditioning_embedding_num_channels=(8,), **steps),
                                                                 {"x": torch.randn(1, 1, 16, 16), "timesteps": torch.tensor([3]), "controlnet_cond": torch.randn(1, 1, 16, 16)})),
        ("spade", "norms modulated by a label map", lambda: (nets.SPADENet(2, 1, 1, 3, [16, 16], [8, 16], is_vae=False), (torch.randn(1, 3, 16, 16),))),
    )
    for name, cause, make in generative:
        yield Network("generative", f"monai_{name}", cause, make)


class Decoded(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, latent):
        return self.model.decode(latent)
