# SPDX-License-Identifier: Apache-2.0
"""Rows of transformers: language models and encoders of text, in configurations of two layers."""
from network import Network, Picked, tokens

SMALL = dict(vocab_size=96, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, max_position_embeddings=64)
GROUPED, HEAD = dict(num_key_value_heads=2), dict(head_dim=8)

# Row, class, configuration, its differences from SMALL, what it represents.
DECODERS = (
    ("llama", "LlamaForCausalLM", "LlamaConfig", GROUPED, "rotary positions, grouped heads"),
    ("mistral", "MistralForCausalLM", "MistralConfig", GROUPED, "sliding window of keys"),
    ("mixtral", "MixtralForCausalLM", "MixtralConfig", {**GROUPED, "num_local_experts": 4}, "mixture of experts"),
    ("qwen2", "Qwen2ForCausalLM", "Qwen2Config", GROUPED, "biases of queries and keys"),
    ("qwen2_moe", "Qwen2MoeForCausalLM", "Qwen2MoeConfig", {**GROUPED, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16,
                                                            "shared_expert_intermediate_size": 16}, "experts beside a shared one"),
    ("qwen3", "Qwen3ForCausalLM", "Qwen3Config", {**GROUPED, **HEAD}, "norms of queries and keys"),
    ("qwen3_next", "Qwen3NextForCausalLM", "Qwen3NextConfig", {**GROUPED, **HEAD, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16,
                                                               "shared_expert_intermediate_size": 16, "linear_num_value_heads": 2, "linear_num_key_heads": 2,
                                                               "linear_key_head_dim": 8, "linear_value_head_dim": 8}, "gated delta rule beside attention"),
    ("gemma", "GemmaForCausalLM", "GemmaConfig", {"num_key_value_heads": 1, **HEAD}, "one head of keys"),
    ("gemma2", "Gemma2ForCausalLM", "Gemma2Config", {"num_key_value_heads": 1, **HEAD}, "capped logits"),
    ("gemma3", "Gemma3ForCausalLM", "Gemma3TextConfig", {"num_key_value_heads": 1, **HEAD}, "local and global layers"),
    ("phi", "PhiForCausalLM", "PhiConfig", {}, "attention and perceptron in parallel"),
    ("phi3", "Phi3ForCausalLM", "Phi3Config", {"pad_token_id": 0, **GROUPED}, "fused projections"),
    ("gpt_neox", "GPTNeoXForCausalLM", "GPTNeoXConfig", {}, "rotary part of a head"),
    ("gpt_neo", "GPTNeoForCausalLM", "GPTNeoConfig", dict(num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]]), "local attention by a mask"),
    ("gptj", "GPTJForCausalLM", "GPTJConfig", dict(n_embd=32, n_layer=2, n_head=4, rotary_dim=4), "interleaved rotation"),
    ("codegen", "CodeGenForCausalLM", "CodeGenConfig", dict(n_embd=32, n_layer=2, n_head=4, rotary_dim=4), "projections split by devices"),
    ("bloom", "BloomForCausalLM", "BloomConfig", dict(n_layer=2, n_head=4), "linear biases of positions (ALiBi)"),
    ("mpt", "MptForCausalLM", "MptConfig", dict(d_model=32, n_layers=2, n_heads=4), "ALiBi with a cut"),
    ("falcon", "FalconForCausalLM", "FalconConfig", {}, "multi-query attention"),
    ("opt", "OPTForCausalLM", "OPTConfig", dict(ffn_dim=64, word_embed_proj_dim=32), "learned positions from a mask"),
    ("stablelm", "StableLmForCausalLM", "StableLmConfig", GROUPED, "rotary quarter of a head"),
    ("olmo2", "Olmo2ForCausalLM", "Olmo2Config", {}, "norms after layers"),
    ("granite", "GraniteForCausalLM", "GraniteConfig", {}, "scaled residuals"),
    ("cohere", "CohereForCausalLM", "CohereConfig", {}, "layer norm without bias, scaled logits"),
    ("deepseek_v3", "DeepseekV3ForCausalLM", "DeepseekV3Config",
     dict(num_key_value_heads=4, n_routed_experts=4, num_experts_per_tok=2, n_group=2, topk_group=1, moe_intermediate_size=16, kv_lora_rank=8, q_lora_rank=8,
          qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8, first_k_dense_replace=1), "latent attention, grouped routing"),
    ("gpt_oss", "GptOssForCausalLM", "GptOssConfig", {**GROUPED, **HEAD, "num_local_experts": 4, "num_experts_per_tok": 2}, "attention sinks, fused experts"),
    ("mamba", "MambaForCausalLM", "MambaConfig", dict(state_size=8), "selective scan"),
    ("mamba2", "Mamba2ForCausalLM", "Mamba2Config", dict(num_heads=8, head_dim=8, state_size=8, n_groups=1), "scan by chunks"),
    ("rwkv", "RwkvForCausalLM", "RwkvConfig", dict(attention_hidden_size=32, context_length=64), "time mix, recurrence"),
    ("recurrent_gemma", "RecurrentGemmaForCausalLM", "RecurrentGemmaConfig", dict(num_key_value_heads=1, lru_width=32, head_dim=8), "linear recurrent unit"),
    ("jamba", "JambaForCausalLM", "JambaConfig", {**GROUPED, "num_experts": 2, "use_mamba_kernels": False, "attn_layer_period": 2, "attn_layer_offset": 1},
     "scans beside attention"),
    ("xglm", "XGLMForCausalLM", "XGLMConfig", dict(d_model=32, ffn_dim=64, num_layers=2, attention_heads=4), "sinusoidal positions"),
    ("lfm2", "Lfm2ForCausalLM", "Lfm2Config", GROUPED, "short convolutions with gates"),
    ("bitnet", "BitNetForCausalLM", "BitNetConfig", GROUPED, "squared ReLU, inner norms"),
    ("nemotron", "NemotronForCausalLM", "NemotronConfig", GROUPED, "norm with shifted weight"),
    ("glm", "GlmForCausalLM", "GlmConfig", {**GROUPED, **HEAD, "pad_token_id": 0}, "rotary half, interleaved"),
    ("smollm3", "SmolLM3ForCausalLM", "SmolLM3Config", {**GROUPED, "pad_token_id": 0}, "layers without positions"),
    ("starcoder2", "Starcoder2ForCausalLM", "Starcoder2Config", GROUPED, "biases everywhere"),
    ("persimmon", "PersimmonForCausalLM", "PersimmonConfig", {}, "layer norms of queries"),
    ("ernie4_5", "Ernie4_5ForCausalLM", "Ernie4_5Config", GROUPED, "interleaved rotary positions"),
)
ENCODERS = (
    ("bert", "BertModel", "BertConfig", {}, "attention in both directions"),
    ("distilbert", "DistilBertModel", "DistilBertConfig", dict(dim=32, n_layers=2, n_heads=4, hidden_dim=64), "a distilled encoder"),
    ("roberta", "RobertaModel", "RobertaConfig", {}, "positions counted by cumsum over a mask"),
    ("albert", "AlbertModel", "AlbertConfig", dict(embedding_size=16), "one layer used many times"),
    ("electra", "ElectraModel", "ElectraConfig", dict(embedding_size=16), "projected embeddings"),
    ("deberta", "DebertaModel", "DebertaConfig", dict(relative_attention=True, pos_att_type=["p2c", "c2p"]), "disentangled attention"),
    ("deberta_v2", "DebertaV2Model", "DebertaV2Config", dict(relative_attention=True, pos_att_type=["p2c", "c2p"]), "logarithmic buckets of distances"),
    ("mpnet", "MPNetModel", "MPNetConfig", {}, "relative position bias"),
    ("longformer", "LongformerModel", "LongformerConfig", dict(attention_window=4), "bands of attention by strides"),
    ("convbert", "ConvBertModel", "ConvBertConfig", dict(embedding_size=16), "convolutions with kernels from the data"),
    ("squeezebert", "SqueezeBertModel", "SqueezeBertConfig", dict(embedding_size=32), "grouped 1-D convolutions"),
    ("funnel", "FunnelModel", "FunnelConfig", dict(block_sizes=[1, 1], d_model=32, n_head=4, d_head=8, d_inner=64), "pooled sequence, relative shift"),
    ("fnet", "FNetModel", "FNetConfig", {}, "Fourier transform of tokens"),
    ("yoso", "YosoModel", "YosoConfig", dict(use_expectation=True), "expected hash collisions (arc cosine)"),
    ("ibert", "IBertModel", "IBertConfig", {}, "integer arithmetic simulated in floats"),
    ("xlm", "XLMModel", "XLMConfig", dict(emb_dim=32, n_layers=2, n_heads=4), "masks from lengths"),
    ("modernbert", "ModernBertModel", "ModernBertConfig", dict(pad_token_id=0, cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2),
     "alternating local attention"),
    ("esm", "EsmModel", "EsmConfig", dict(pad_token_id=0, mask_token_id=1, position_embedding_type="rotary"), "a model of proteins"),
    ("roformer", "RoFormerModel", "RoFormerConfig", dict(embedding_size=32), "rotary positions, interleaved"),
    ("layoutlm", "LayoutLMModel", "LayoutLMConfig", {}, "embeddings of boxes"),
    ("rembert", "RemBertModel", "RemBertConfig", dict(input_embedding_size=16), "separate input embedding"),
    ("canine", "CanineModel", "CanineConfig", dict(local_transformer_stride=8, num_hash_buckets=64), "hashed characters, strided"),
    ("t5_encoder", "T5EncoderModel", "T5Config", dict(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4), "buckets of relative distances"),
    ("umt5_encoder", "UMT5EncoderModel", "UMT5Config", dict(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4), "biases of each layer"),
    ("clip_text", "CLIPTextModel", "CLIPTextConfig", dict(eos_token_id=95), "the row of the end token"),
    ("siglip_text", "SiglipTextModel", "SiglipTextConfig", {}, "the last token"),
    ("mra", "MraModel", "MraConfig", {}, "attention at several resolutions"),
    ("megatron_bert", "MegatronBertModel", "MegatronBertConfig", {}, "norms before layers"),
    ("splinter", "SplinterModel", "SplinterConfig", {}, "questions in a text"),
    ("ernie", "ErnieModel", "ErnieConfig", {}, "task embeddings"),
)
# Configurations that name these sizes in their own way and reject the usual names.
OWN_NAMES = ("FunnelModel", "ProphetNetForConditionalGeneration")

SEQUENCES = (
    ("t5", "T5ForConditionalGeneration", "T5Config", dict(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0),
     "encoder and decoder, cross attention"),
    ("bart", "BartForConditionalGeneration", "BartConfig", dict(d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4,
                                                                encoder_ffn_dim=64, decoder_ffn_dim=64), "learned positions with an offset"),
    ("pegasus", "PegasusForConditionalGeneration", "PegasusConfig", dict(d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
                                                                         decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64), "sinusoids as weights"),
    ("marian", "MarianMTModel", "MarianConfig", dict(d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4,
                                                     encoder_ffn_dim=64, decoder_ffn_dim=64, pad_token_id=0, decoder_start_token_id=0), "translation"),
    ("prophetnet", "ProphetNetForConditionalGeneration", "ProphetNetConfig", dict(hidden_size=32, num_encoder_layers=1, num_decoder_layers=1, num_encoder_attention_heads=4,
                                                                                 num_decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, ngram=2),
     "predicts several tokens"),
)


def rows_of_transformers_language():
    import transformers

    def text(kind, configuration, more, pick, **fixed):
        def make():
            base = SMALL if kind not in OWN_NAMES else {"vocab_size": 96}
            model = getattr(transformers, kind)(getattr(transformers, configuration)(**{**base, **more}))
            return Picked(model, pick, **fixed), tokens()
        return make

    for name, kind, configuration, more, cause in DECODERS:
        if hasattr(transformers, kind):
            yield Network("language", f"transformers_{name}", cause, text(kind, configuration, more, lambda y: y.logits, use_cache=False))
    for name, kind, configuration, more, cause in ENCODERS:
        if hasattr(transformers, kind):
            yield Network("language", f"transformers_{name}", cause, text(kind, configuration, more, lambda y: y.last_hidden_state))
    for name, kind, configuration, more, cause in SEQUENCES:
        yield Network("language", f"transformers_{name}", cause, sequences(transformers, kind, configuration, more))


def sequences(transformers, kind, configuration, more):
    def make():
        base = SMALL if kind not in OWN_NAMES else {"vocab_size": 96}
        model = getattr(transformers, kind)(getattr(transformers, configuration)(**{**base, **more}))
        return Picked(model, lambda y: y.logits, use_cache=False), {"input_ids": tokens()[0], "decoder_input_ids": tokens(5)[0]}
    return make
