#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports models of torchvision and transformers, from their own configurations with random weights, as make_zoo.py does.

usage: make_library_models.py OUT_DIR [NAME ...]

Needs torch, torchvision and transformers; nothing is downloaded. Sizes are those people deploy where that keeps an archive below
half a gigabyte.
"""
import pathlib
import sys
import traceback

import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from make_zoo import write  # noqa: E402


def import_vision():
    """torchvision gives shape rules for its own operators while it is imported, which fails where its library of them does not fit this torch."""
    register, torch.library.register_fake = torch.library.register_fake, lambda *_, **__: lambda function: function
    try:
        import torchvision.models
    finally:
        torch.library.register_fake = register
    return torchvision.models


class Picked(nn.Module):
    """The tensors that one asks a library's model for."""

    def __init__(self, model, pick, **fixed):
        super().__init__()
        self.model, self.pick, self.fixed = model, pick, fixed

    def forward(self, *args):
        return self.pick(self.model(*args, **self.fixed))


class ByName(nn.Module):
    def __init__(self, model, names, pick, **fixed):
        super().__init__()
        self.model, self.names, self.pick, self.fixed = model, names, pick, fixed

    def forward(self, *args):
        return self.pick(self.model(**dict(zip(self.names, args)), **self.fixed))


def image(size, batch=1):
    return (torch.randn(batch, 3, size, size),)


def vision():
    tv = import_vision()
    seg = tv.segmentation
    plain = {"tv_mobilenet_v2": (tv.mobilenet_v2, 224), "tv_mobilenet_v3_small": (tv.mobilenet_v3_small, 224), "tv_resnet18": (tv.resnet18, 224),
             "tv_efficientnet_b0": (tv.efficientnet_b0, 224), "tv_squeezenet": (tv.squeezenet1_1, 224), "tv_shufflenet": (tv.shufflenet_v2_x0_5, 224),
             "tv_densenet121": (tv.densenet121, 64), "tv_convnext_tiny": (tv.convnext_tiny, 64), "tv_regnet": (tv.regnet_y_400mf, 64),
             "tv_mnasnet": (tv.mnasnet0_5, 64), "tv_swin_t": (tv.swin_t, 224), "tv_maxvit": (tv.maxvit_t, 224), "tv_googlenet": (lambda: tv.googlenet(init_weights=False), 64)}
    models = {name: lambda make=make, size=size: (make(), image(size)) for name, (make, size) in plain.items()}
    out = lambda y: y["out"]
    models["tv_deeplab"] = lambda: (Picked(seg.deeplabv3_mobilenet_v3_large(weights_backbone=None), out), image(128))
    models["tv_lraspp"] = lambda: (Picked(seg.lraspp_mobilenet_v3_large(weights_backbone=None), out), image(128))
    models["tv_mobilenet_v2_channels_last"] = lambda: (tv.mobilenet_v2().to(memory_format=torch.channels_last),
                                                       (image(224)[0].to(memory_format=torch.channels_last),))
    models["tv_ssdlite_heads"] = lambda: (SsdHeads(tv), image(320))
    models["tv_resnet18_dynamic_batch"] = lambda: (tv.resnet18(), image(64, 3), ({0: torch.export.Dim("batch", min=1, max=8)},))
    return models


class SsdHeads(nn.Module):
    """A detector up to its boxes and scores, and the best ones."""

    def __init__(self, tv):
        super().__init__()
        whole = tv.detection.ssdlite320_mobilenet_v3_large(weights_backbone=None)
        self.backbone, self.head = whole.backbone, whole.head

    def forward(self, x):
        out = self.head(list(self.backbone(x).values()))
        scores, index = out["cls_logits"].softmax(-1)[..., 1:].amax(-1).topk(50)
        return scores, out["bbox_regression"].gather(1, index.unsqueeze(-1).expand(-1, -1, 4))


def ids(*sizes, top=1000):
    return torch.randint(1, top, sizes)


def language():
    import transformers as hf
    eager = {"attn_implementation": "eager"}
    small = dict(vocab_size=1000, hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256)
    first, logits = (lambda y: y.last_hidden_state), (lambda y: y.logits)
    causal = dict(use_cache=False)

    def text(model, pick=first, length=24, **fixed):
        return Picked(model, pick, **fixed), (ids(1, length),)

    def masked(model, pick=first, length=24):
        mask = torch.ones(1, length, dtype=torch.int64)
        mask[0, -4:] = 0
        return ByName(model, ["input_ids", "attention_mask"], pick), (ids(1, length), mask)

    models = {
        "hf_bert": lambda: masked(hf.BertModel(hf.BertConfig(**small), add_pooling_layer=True), lambda y: (y.last_hidden_state, y.pooler_output)),
        "hf_distilbert": lambda: masked(hf.DistilBertModel(hf.DistilBertConfig(vocab_size=1000, dim=128, n_layers=2, n_heads=4, hidden_dim=256))),
        "hf_roberta": lambda: masked(hf.RobertaModel(hf.RobertaConfig(**small))),
        "hf_electra": lambda: masked(hf.ElectraModel(hf.ElectraConfig(**small, embedding_size=128))),
        "hf_albert": lambda: masked(hf.AlbertModel(hf.AlbertConfig(**small, embedding_size=64))),
        "hf_mobilebert": lambda: masked(hf.MobileBertModel(hf.MobileBertConfig(vocab_size=1000, num_hidden_layers=2))),
        "hf_t5_encoder": lambda: text(hf.T5EncoderModel(hf.T5Config(vocab_size=1000, d_model=128, d_kv=32, d_ff=256, num_layers=2, num_heads=4))),
        "hf_gpt2": lambda: text(hf.GPT2LMHeadModel(hf.GPT2Config()), logits, 32, **causal),
        "hf_opt": lambda: text(hf.OPTForCausalLM(hf.OPTConfig(vocab_size=1000, hidden_size=128, num_hidden_layers=2, num_attention_heads=4, ffn_dim=256,
                                                              word_embed_proj_dim=128)), logits, **causal),
        "hf_llama": lambda: text(hf.LlamaForCausalLM(hf.LlamaConfig(**small, num_key_value_heads=2)), logits, **causal),
        "hf_qwen2": lambda: text(hf.Qwen2ForCausalLM(hf.Qwen2Config(**small, num_key_value_heads=2)), logits, **causal),
        "hf_qwen3": lambda: text(hf.Qwen3ForCausalLM(hf.Qwen3Config(**small, num_key_value_heads=2, head_dim=32)), logits, **causal),
        "hf_gemma": lambda: text(hf.GemmaForCausalLM(hf.GemmaConfig(**small, num_key_value_heads=1, head_dim=32)), logits, **causal),
        "hf_phi": lambda: text(hf.PhiForCausalLM(hf.PhiConfig(**small)), logits, **causal),
        "hf_mamba": lambda: text(hf.MambaForCausalLM(hf.MambaConfig(vocab_size=1000, hidden_size=64, state_size=8, num_hidden_layers=2)), logits, 8, **causal),
        "hf_llama_cache": lambda: cached(hf, hf.LlamaForCausalLM(hf.LlamaConfig(**small, num_key_value_heads=2, max_position_embeddings=64))),
        "hf_qwen3_cache": lambda: cached(hf, hf.Qwen3ForCausalLM(hf.Qwen3Config(**small, num_key_value_heads=2, head_dim=32, max_position_embeddings=64))),
        "hf_vit": lambda: (Picked(hf.ViTModel(hf.ViTConfig(**visual(small), image_size=64)), first), image(64)),
        "hf_dinov2": lambda: (Picked(hf.Dinov2Model(hf.Dinov2Config(**visual(small), image_size=56, patch_size=14)), first), image(56)),
        "hf_swin": lambda: (Picked(hf.SwinModel(hf.SwinConfig(image_size=64, embed_dim=24, depths=[2, 2], num_heads=[2, 4], window_size=4)), first), image(64)),
        "hf_segformer": lambda: (Picked(hf.SegformerForSemanticSegmentation(hf.SegformerConfig(num_labels=5)), logits), image(64)),
        "hf_clip_vision": lambda: (Picked(hf.CLIPVisionModel(hf.CLIPVisionConfig(**visual(small), image_size=64, patch_size=16)), first), image(64)),
        "hf_yolos": lambda: (Picked(hf.YolosForObjectDetection(hf.YolosConfig(**visual(small), image_size=[64, 64], patch_size=16, num_detection_tokens=10)),
                                    lambda y: (y.logits, y.pred_boxes)), image(64)),
        "hf_whisper_encoder": lambda: (Picked(hf.WhisperModel(hf.WhisperConfig(vocab_size=1000, d_model=128, encoder_layers=2, decoder_layers=1, encoder_attention_heads=4,
                                                                               decoder_attention_heads=4, encoder_ffn_dim=256, decoder_ffn_dim=256, pad_token_id=0,
                                                                               bos_token_id=1, eos_token_id=2, decoder_start_token_id=3, max_source_positions=100)).encoder, first),
                                       (torch.randn(1, 80, 200),)),
        "hf_wav2vec2": lambda: (Picked(hf.Wav2Vec2Model(hf.Wav2Vec2Config(hidden_size=96, num_hidden_layers=2, num_attention_heads=4, intermediate_size=192,
                                                                          num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4)), first), (torch.randn(1, 8000),)),
        "hf_hubert": lambda: (Picked(hf.HubertModel(hf.HubertConfig(hidden_size=96, num_hidden_layers=2, num_attention_heads=4, intermediate_size=192,
                                                                    num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4)), first), (torch.randn(1, 8000),)),
    }
    models["hf_bert_eager"] = lambda: masked(hf.BertModel(hf.BertConfig(**small, **eager)))
    return models


def visual(small):
    return {key: value for key, value in small.items() if key != "vocab_size"}


def cached(hf, model):
    """One token at a time, keys and values in mutable buffers, as transformers' own exporter for ExecuTorch has it."""
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache
    model.generation_config = hf.GenerationConfig(use_cache=True, cache_implementation="static", max_length=32,
                                                  cache_config={"batch_size": 1, "max_cache_len": 32})
    module = TorchExportableModuleWithStaticCache(model, batch_size=1, max_cache_len=32)
    return ByName(module, ["input_ids", "cache_position"], lambda y: y), (torch.tensor([[7]]), torch.tensor([0]))


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name, make in {**vision(), **language()}.items():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        try:
            torch.manual_seed(5)
            module, *rest = make()
            write(out, name, (module.eval(), *rest))
            print(f"{name}: written", flush=True)
        except Exception:  # noqa: BLE001  (one model that torch cannot export must not hide the others)
            failed += 1
            print(f"{name}: cannot be exported\n{traceback.format_exc(limit=-3)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    with torch.no_grad():
        sys.exit(main())
