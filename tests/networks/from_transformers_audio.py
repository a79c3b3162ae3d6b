# SPDX-License-Identifier: Apache-2.0
"""Rows of transformers for sound and for series of numbers."""
import torch
from network import Network, Picked, tokens

WAVES = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3),
             num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4, num_feat_extract_layers=2)
WHISPER = dict(vocab_size=96, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
               decoder_ffn_dim=64, num_mel_bins=16, max_source_positions=24, max_target_positions=24, pad_token_id=0, bos_token_id=1, eos_token_id=2,
               decoder_start_token_id=3)
SERIES = dict(num_input_channels=2, context_length=32, patch_length=8, patch_stride=8, d_model=16)


def hidden(y):
    return y.last_hidden_state


def wave(length=800):
    return (torch.randn(1, length),)


def rows_of_transformers_audio():
    import transformers

    def make(kind, configuration, parts, inputs, pick=hidden, **fixed):
        return lambda: (Picked(getattr(transformers, kind)(getattr(transformers, configuration)(**parts)), pick, **fixed), inputs())

    for name, kind, cause in (("wav2vec2", "Wav2Vec2", "convolutions over a wave, weight norm of positions"), ("hubert", "Hubert", "group norm of one group a channel"),
                              ("wavlm", "WavLM", "gated relative positions"), ("sew", "SEW", "squeezed sequence"), ("unispeech", "UniSpeech", "speech units"),
                              ("data2vec_audio", "Data2VecAudio", "stacked convolutions of positions"),
                              ("wav2vec2_conformer", "Wav2Vec2Conformer", "convolution inside attention layers")):
        yield Network("audio", f"transformers_{name}", cause, make(f"{kind}Model", f"{kind}Config", WAVES, wave))
    yield Network("audio", "transformers_wav2vec2_ctc", "letters of each frame",
                  make("Wav2Vec2ForCTC", "Wav2Vec2Config", dict(WAVES, vocab_size=32), wave, lambda y: y.logits))
    yield Network("audio", "transformers_whisper", "spectrogram to tokens, cross attention",
                  make("WhisperForConditionalGeneration", "WhisperConfig", WHISPER, lambda: {"input_features": torch.randn(1, 16, 48), "decoder_input_ids": tokens()[0]},
                       lambda y: y.logits, use_cache=False))
    yield Network("audio", "transformers_speech_to_text", "strided convolutions before the encoder",
                  make("Speech2TextForConditionalGeneration", "Speech2TextConfig",
                       dict(vocab_size=96, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
                            decoder_ffn_dim=64, input_feat_per_channel=16, conv_channels=16, max_source_positions=64),
                       lambda: {"input_features": torch.randn(1, 40, 16), "decoder_input_ids": tokens()[0]}, lambda y: y.logits, use_cache=False))
    yield Network("audio", "transformers_ast", "patches of a spectrogram",
                  make("ASTModel", "ASTConfig", dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, patch_size=8, max_length=64,
                                                     num_mel_bins=32), lambda: (torch.randn(1, 64, 32),)))
    yield Network("audio", "transformers_encodec", "codec: LSTM, residual quantisation",
                  make("EncodecModel", "EncodecConfig", dict(upsampling_ratios=[4, 2], num_filters=4, hidden_size=8, codebook_size=16, num_lstm_layers=1, codebook_dim=8),
                       lambda: (torch.randn(1, 1, 64),), lambda y: y.audio_values))
    yield Network("audio", "transformers_dac", "codec with snake activations",
                  make("DacModel", "DacConfig", dict(encoder_hidden_size=8, downsampling_ratios=[2, 2], decoder_hidden_size=16, n_codebooks=2, codebook_size=16,
                                                     codebook_dim=4, hidden_size=32, upsampling_ratios=[2, 2]), lambda: (torch.randn(1, 1, 64),), lambda y: y.audio_values))
    yield Network("audio", "transformers_hifigan", "vocoder of transposed convolutions",
                  make("SpeechT5HifiGan", "SpeechT5HifiGanConfig", dict(model_in_dim=8, upsample_initial_channel=16, upsample_rates=[4, 2], upsample_kernel_sizes=[8, 4],
                                                                        resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1, 3]]),
                       lambda: (torch.randn(1, 12, 8),), lambda y: y))
    yield Network("audio", "transformers_patchtst", "patches of a series", make("PatchTSTModel", "PatchTSTConfig", dict(
        SERIES, num_hidden_layers=1, num_attention_heads=2, ffn_dim=16), lambda: (torch.randn(1, 32, 2),)))
    yield Network("audio", "transformers_patchtsmixer", "mixing of channels and patches of a series",
                  make("PatchTSMixerModel", "PatchTSMixerConfig", dict(SERIES, num_layers=1), lambda: (torch.randn(1, 32, 2),)))
    yield Network("audio", "transformers_timesfm", "decoder over patches of a series",
                  make("TimesFmModel", "TimesFmConfig", dict(patch_length=8, context_length=32, horizon_length=8, hidden_size=32, intermediate_size=32, head_dim=8,
                                                             num_hidden_layers=1, num_attention_heads=2),
                       lambda: {"past_values": torch.randn(1, 32), "past_values_padding": torch.zeros(1, 32, dtype=torch.int64), "freq": torch.zeros(1, 1, dtype=torch.int64)}))
    yield Network("language", "transformers_decision", "states, actions and returns in one sequence",
                  make("DecisionTransformerModel", "DecisionTransformerConfig", dict(state_dim=4, act_dim=2, hidden_size=32, n_layer=1, n_head=2, max_ep_len=64),
                       lambda: {"states": torch.randn(1, 4, 4), "actions": torch.randn(1, 4, 2), "rewards": torch.randn(1, 4, 1),
                                "returns_to_go": torch.randn(1, 4, 1), "timesteps": torch.arange(4)[None]}, lambda y: y.action_preds))
    yield Network("generative", "transformers_musicgen_decoder", "several codebooks a step",
                  make("MusicgenForCausalLM", "MusicgenDecoderConfig", dict(vocab_size=32, num_codebooks=2, hidden_size=32, num_hidden_layers=1, num_attention_heads=4,
                                                                            ffn_dim=64, max_position_embeddings=32),
                       lambda: {"input_ids": torch.randint(1, 30, (2, 6))}, lambda y: y.logits, use_cache=False))
