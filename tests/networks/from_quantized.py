# SPDX-License-Identifier: Apache-2.0
"""Rows of quantised networks: PT2E for XNNPACK, and torchao."""
import torch
from network import HALF_TOLERANCE, QUANTIZED_TOLERANCE, Cast, Network, Picked, image, import_torchvision, settle, tokens


def networks(torchvision, transformers):
    tv = torchvision.models
    small = dict(vocab_size=96, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
    return {
        "mobilenet_v2": lambda: (tv.mobilenet_v2(num_classes=10), image(64)), "mobilenet_v3": lambda: (tv.mobilenet_v3_small(num_classes=10), image(64)),
        "resnet18": lambda: (tv.resnet18(num_classes=10), image(64)), "efficientnet": lambda: (tv.efficientnet_b0(num_classes=10), image(64)),
        "vit": lambda: (tv.VisionTransformer(image_size=32, patch_size=8, num_layers=2, num_heads=2, hidden_dim=32, mlp_dim=64, num_classes=10), image(32)),
        "bert": lambda: (Picked(transformers.BertModel(transformers.BertConfig(**small)), lambda y: y.last_hidden_state), tokens()),
        "llama": lambda: (Picked(transformers.LlamaForCausalLM(transformers.LlamaConfig(**small)), lambda y: y.logits, use_cache=False), tokens()),
        "gpt2": lambda: (Picked(transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=96, n_embd=64, n_layer=2, n_head=2)), lambda y: y.logits, use_cache=False), tokens()),
        "segformer": lambda: (Picked(transformers.SegformerForSemanticSegmentation(transformers.SegformerConfig(
            depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 24, 32], num_attention_heads=[1, 1, 2, 2], decoder_hidden_size=32, num_labels=4)), lambda y: y.logits), image(64)),
    }


def quantize_pt2e(module, inputs, **options):
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    settle(module)
    prepared = prepare_pt2e(torch.export.export(module.eval(), inputs).module(), XNNPACKQuantizer().set_global(get_symmetric_quantization_config(**options)))
    prepared(*inputs)
    return convert_pt2e(prepared), inputs


def quantize_torchao(module, inputs, configuration):
    from torchao.quantization import quantize_
    from torchao.utils import unwrap_tensor_subclass
    settle(module)
    quantize_(module.eval(), configuration)
    unwrap_tensor_subclass(module)
    return module, inputs


def rows_of_quantized():
    import transformers
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, Int8WeightOnlyConfig, IntxWeightOnlyConfig
    from torchao.quantization.granularity import PerGroup
    made = networks(import_torchvision(), transformers)
    pt2e = (("static", "int8, scales fixed ahead of time", dict(is_per_channel=True)), ("per_tensor", "int8, one scale a tensor", dict(is_per_channel=False)),
            ("dynamic", "int8, scales from the data", dict(is_per_channel=True, is_dynamic=True)))
    torchao = (("8da4w", "4-bit weights in groups, int8 activations", lambda: Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32))),
               ("int8_weights", "int8 weights", Int8WeightOnlyConfig), ("int4_weights", "4-bit weights in groups", lambda: IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32))))
    for name, make in made.items():
        for kind, cause, options in pt2e if name not in ("llama", "gpt2") else ():  # the quantizer also rounds their positions
            if kind != "per_tensor" or name in ("mobilenet_v2", "resnet18"):
                yield Network("quantized", f"quantized_{name}_{kind}", cause, lambda make=make, options=options: quantize_pt2e(*make(), **options), tolerance=QUANTIZED_TOLERANCE)
        if name in ("vit", "bert", "llama", "gpt2"):
            for kind, cause, configuration in torchao:
                yield Network("quantized", f"quantized_{name}_{kind}", cause, lambda make=make, configuration=configuration: quantize_torchao(*make(), configuration()), tolerance=QUANTIZED_TOLERANCE)
        for kind, dtype in (("float16", torch.float16), ("bfloat16", torch.bfloat16)):
            if name in ("resnet18", "mobilenet_v2", "bert", "llama"):
                yield Network("quantized", f"quantized_{name}_{kind}", "half the bits of a float", lambda make=make, dtype=dtype: halve(*make(), dtype), tolerance=HALF_TOLERANCE * (1 if kind == "float16" else 4))


def halve(module, inputs, dtype):
    return Cast(module, dtype), inputs
