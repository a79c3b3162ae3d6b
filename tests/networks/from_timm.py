# SPDX-License-Identifier: Apache-2.0
"""Rows of timm: image classifiers that differ in how they mix positions or channels."""
from network import Network, image

# Name, size of the image (0: 96), what it represents.
CHOSEN = (
    ("ghostnet_050", 0, "cheap features from depthwise convolutions"), ("mobilevit_xxs", 64, "patches unfolded for attention"),
    ("mobileone_s0", 64, "parallel branches with batch norms"), ("fastvit_t8", 64, "mixing of tokens by convolution"),
    ("convnextv2_atto", 64, "response normalisation over positions"), ("hrnet_w18_small", 64, "four resolutions side by side"),
    ("dla34", 64, "trees of aggregated layers"), ("nf_regnet_b0", 64, "standardised weights, no norm"),
    ("mixer_s32_224", 224, "perceptrons over positions"), ("gmlp_ti16_224", 224, "spatial gates"),
    ("crossvit_tiny_240", 240, "two sizes of patches, bicubic resize"), ("levit_128s", 224, "attention with learned biases"),
    ("coat_tiny", 224, "convolutional relative positions"), ("xcit_nano_12_p16_224", 224, "attention across channels"),
    ("volo_d1_224", 224, "outlook attention: unfold and fold"), ("twins_svt_small", 224, "local and global attention"),
    ("gcvit_xxtiny", 224, "global queries"), ("focalnet_tiny_srf", 64, "gated contexts of growing size"),
    ("poolformerv2_s12", 64, "pooling instead of attention"), ("sequencer2d_s", 224, "LSTMs over rows and columns"),
    ("lambda_resnet26t", 64, "lambda layers"), ("halonet26t", 256, "attention over overlapping blocks"),
    ("sebotnet33ts_256", 256, "relative positions by shifted products"), ("eca_botnext26ts_256", 256, "channel attention by 1-D convolution"),
    ("efficientvit_b0", 64, "linear attention"), ("hiera_tiny_224", 224, "masked units, pooled queries"),
    ("mambaout_femto", 64, "gated convolutions"), ("starnet_s1", 64, "products of two branches"),
    ("eva02_tiny_patch14_224", 224, "rotary positions in two dimensions"), ("cait_xxs24_224", 224, "talking heads, class attention"),
    ("beit_base_patch16_224", 224, "table of relative positions"), ("vitamin_small_224", 224, "convolutions before attention"),
    ("mixnet_s", 64, "kernels of several sizes in one layer"), ("selecsls42", 64, "selective shortcuts"),
    ("vovnet39a", 64, "one concatenation of all layers"), ("skresnet18", 64, "selected kernel sizes"),
)
# The others of the same kinds, with --only timm_more.
MORE = (
    "resnest14d", "res2net50_26w_4s", "seresnet18", "ecaresnet26t", "regnetx_002", "regnety_002", "regnetz_b16", "efficientnet_b0",
    "efficientnetv2_rw_t", "mobilenetv3_small_050", "mobilenetv4_conv_small", "mobilevitv2_050", "repvit_m0_9", "repghostnet_050",
    "ghostnetv3_050", "tinynet_e", "lcnet_035", "hardcorenas_a", "fbnetc_100", "spnasnet_100", "ese_vovnet19b_dw", "cspresnet50",
    "cspdarknet53", "darknet21", "dpn48b", "inception_v4", "xception41", "rexnet_100", "gernet_s", "repvgg_a0", "nfnet_f0",
    "convnext_atto", "convmixer_768_32", "edgenext_xx_small", "efficientformer_l1", "inception_next_atto", "hgnetv2_b0", "nextvit_small",
    "rdnet_tiny", "shvit_s1", "swiftformer_xs", "gcresnet33ts", "test_vit", "test_resnet", "test_efficientnet", "test_convnext",
)
REMARKS = {"efficientnetv2_rw_t": "amplifies rounding: PyTorch's own float32 results differ from its float64 results by a third"}


def rows_of_timm():
    import timm

    def make(name, size):
        return lambda: (timm.create_model(name, pretrained=False, num_classes=10, scriptable=False, exportable=True), image(size or 96))

    for name, size, cause in CHOSEN:
        yield Network("vision", f"timm_{name}", cause, make(name, size))
    for name in MORE:
        size = 224 if name in ("efficientformer_l1", "nextvit_small", "swiftformer_xs") else 160 if name.startswith("test_") else 64
        yield Network("vision", f"timm_more_{name}", "further image classifiers", make(name, size), remark=REMARKS.get(name, ""))
