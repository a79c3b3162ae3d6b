# SPDX-License-Identifier: Apache-2.0
"""Rows of torchaudio, demucs, speechbrain, asteroid, openunmix, encodec, snac, vocos, nnAudio, conformer."""
import torch
from network import Function, Method, Network, Picked


def wave(length=1600, channels=1):
    return (torch.randn(1, channels, length),)


def rows_of_torchaudio():
    import torchaudio
    models, transforms, functional = torchaudio.models, torchaudio.transforms, torchaudio.functional
    lengths = torch.tensor([20])
    yield from (Network("audio", f"torchaudio_{name}", cause, make, tolerance=2e-4) for name, cause, make in (
        ("conformer", "convolution inside attention layers, masks from lengths", lambda: (models.Conformer(16, 2, 32, 2, 7), (torch.randn(1, 20, 16), lengths))),
        ("conv_tasnet", "masks over a learned basis", lambda: (models.ConvTasNet(2, 16, 16, 3, 8, 16, 2, 1), wave(400))),
        ("deepspeech", "recurrence in both directions", lambda: (models.DeepSpeech(16, 32, 10), (torch.randn(1, 1, 20, 16),))),
        ("wav2letter", "convolutions over a wave", lambda: (models.Wav2Letter(10), wave())),
        ("emformer", "segments with context and memory", lambda: (models.Emformer(16, 2, 32, 1, 4, right_context_length=2), (torch.randn(1, 18, 16), torch.tensor([16])))),
        ("hdemucs", "spectrogram and wave in two branches", lambda: (models.HDemucs(["a", "b"], channels=8, nfft=256, depth=3), wave(2048, 2))),
        ("wav2vec2", "raw waves to features", lambda: (models.wav2vec2_model("group_norm", [(16, 10, 5), (16, 3, 2)], False, 32, 0.0, 8, 4, 2, 2, 0.0, 64, 0.0, 0.0, False, 0.0, 10), (torch.randn(1, 800),))),
        ("wavernn", "upsampling and GRUs", lambda: (models.WaveRNN([4, 4], 16, 16, 1, 16, 16, 5, 8, 16, 16), (torch.randn(1, 1, 16 * 4), torch.randn(1, 1, 8, 8)))),
        ("squim", "quality of speech by dual paths", lambda: (torchaudio.models.squim.objective.squim_objective_model(16, 8, 16, 1, 8, 2, "LSTM", 8), (torch.randn(1, 1600),))),
        ("tacotron_postnet", "spectrogram decoder's postnet", lambda: (models.Tacotron2(n_mels=8, encoder_embedding_dim=16).postnet, (torch.randn(1, 8, 20),))),
        ("melspectrogram", "short-time Fourier transform, mel filters", lambda: (transforms.MelSpectrogram(n_fft=128, n_mels=16), wave())),
        ("mfcc", "cosine transform of logarithms", lambda: (transforms.MFCC(n_mfcc=8, melkwargs=dict(n_fft=128, n_mels=16)), wave())),
        ("lfcc", "linear filters", lambda: (transforms.LFCC(n_lfcc=8, n_filter=16, speckwargs=dict(n_fft=128)), wave())),
        ("inverse_spectrogram", "inverse short-time Fourier transform", lambda: (torch.nn.Sequential(transforms.Spectrogram(n_fft=128, power=None), transforms.InverseSpectrogram(n_fft=128)), wave())),
        ("time_stretch", "phase vocoder", lambda: (transforms.TimeStretch(n_freq=65, fixed_rate=1.3), (torch.randn(1, 65, 20, dtype=torch.complex64),))),
        ("resample", "windowed sinc", lambda: (transforms.Resample(16000, 12000), wave())),
        ("deltas", "derivatives in time", lambda: (transforms.ComputeDeltas(), (torch.randn(1, 8, 20),))),
        ("mu_law", "logarithmic codes", lambda: (torch.nn.Sequential(transforms.MuLawEncoding(), transforms.MuLawDecoding()), (torch.rand(1, 100) * 2 - 1,))),
        ("convolve", "convolution by Fourier transforms", lambda: (transforms.FFTConvolve(), (torch.randn(1, 200), torch.randn(1, 30)))),
        ("loudness", "filters in series", lambda: (transforms.Loudness(100), (torch.randn(1, 100),))),
        ("biquad", "recursive filter", lambda: (Function(lambda x: functional.lowpass_biquad(x, 16000, 2000.0)), (torch.randn(1, 60),))),
        ("centroid", "weighted frequencies", lambda: (transforms.SpectralCentroid(16000, n_fft=128), wave())),
        ("mvdr", "beamforming: complex matrices", lambda: (Function(lambda x, m: functional.mvdr_weights_souden(functional.psd(x, m), functional.psd(x, 1 - m), 0)),
                                                           (torch.randn(3, 9, 10, dtype=torch.complex64), torch.rand(9, 10))))))
    yield Network("audio", "torchaudio_griffin_lim", "phases by iteration", lambda: (transforms.GriffinLim(n_fft=128, n_iter=2), (torch.rand(1, 65, 20),)), remark="begins with random phases")


def rows_of_demucs():
    from demucs.demucs import Demucs
    from demucs.hdemucs import HDemucs
    from demucs.htdemucs import HTDemucs
    small = dict(sources=["a", "b"], audio_channels=2, channels=8)
    yield Network("audio", "demucs_demucs", "LSTM between strided convolutions, resampling",
                  lambda: (Demucs(**small, depth=3, lstm_layers=1, dconv_attn=9, dconv_lstm=2, resample=False), wave(1024, 2)), tolerance=2e-4)
    yield Network("audio", "demucs_hdemucs", "spectrogram as complex channels", lambda: (HDemucs(**small, nfft=256, depth=3, multi_freqs=[]), wave(2048, 2)), tolerance=2e-4)
    yield Network("audio", "demucs_htdemucs", "cross attention of two branches",
                  lambda: (HTDemucs(**small, nfft=256, depth=2, t_layers=1, t_heads=2, bottom_channels=0, segment=0.05), wave(2048, 2)), tolerance=2e-4)


def rows_of_speechbrain():
    from speechbrain.lobes.models.conv_tasnet import MaskNet
    from speechbrain.lobes.models.dual_path import Dual_Path_Model, SBRNNBlock
    from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN
    yield Network("audio", "speechbrain_ecapa", "statistics pooled by attention", lambda: (ECAPA_TDNN(16, channels=[16] * 5, attention_channels=8, lin_neurons=8, res2net_scale=4), (torch.randn(2, 30, 16),)))
    yield Network("audio", "speechbrain_masks", "stacks of dilated convolutions", lambda: (MaskNet(16, 8, 16, 3, 2, 1, 2, "gLN", False, "relu"), (torch.randn(1, 16, 20),)))
    yield Network("audio", "speechbrain_dual_path", "chunks by folding",
                  lambda: (Dual_Path_Model(16, 8, SBRNNBlock(8, 8, 1, bidirectional=True), SBRNNBlock(8, 8, 1, bidirectional=True), num_layers=1, K=8), (torch.randn(1, 16, 30),)))


def rows_of_asteroid():
    from asteroid import models
    basis = dict(n_filters=16, kernel_size=16, stride=8)
    yield Network("audio", "asteroid_conv_tasnet", "separation by masks", lambda: (models.ConvTasNet(2, n_repeats=1, n_blocks=2, bn_chan=8, hid_chan=16, skip_chan=8, **basis), (torch.randn(1, 400),)))
    yield Network("audio", "asteroid_dprnn", "recurrence within and across chunks", lambda: (models.DPRNNTasNet(2, n_repeats=1, bn_chan=8, hid_size=8, chunk_size=10, **basis), (torch.randn(1, 400),)))
    yield Network("audio", "asteroid_dptnet", "attention within and across chunks", lambda: (models.DPTNet(2, n_repeats=1, n_heads=2, ff_hid=8, chunk_size=10, **basis), (torch.randn(1, 400),)))
    yield Network("audio", "asteroid_lstm", "recurrence over frames", lambda: (models.LSTMTasNet(2, rnn_type="lstm", n_layers=1, hid_size=8, dropout=0.0, **basis), (torch.randn(1, 400),)))
    yield Network("audio", "asteroid_sudormrf", "successive down and up sampling", lambda: (models.SuDORMRFNet(2, bn_chan=8, num_blocks=1, upsampling_depth=2, n_filters=16, kernel_size=16, stride=8), (torch.randn(1, 400),)))
    yield Network("audio", "asteroid_demask", "magnitudes masked", lambda: (models.DeMask(hidden_dims=(8,), dropout=0.0, n_filters=32, kernel_size=32, stride=16), (torch.randn(1, 400),)))
    yield Network("audio", "asteroid_dcunet", "complex convolutions", lambda: (models.DCUNet("DCUNet-10", stft_n_filters=64, stft_kernel_size=64, stft_stride=16), (torch.randn(1, 1056),)), tolerance=2e-4)


def rows_of_other_audio():
    import encodec
    import openunmix.model
    import snac
    import vocos
    from conformer import Conformer
    yield Network("audio", "openunmix_umx", "LSTM over a spectrogram", lambda: (openunmix.model.OpenUnmix(65, 2, 16, 1), (torch.rand(1, 2, 65, 10),)))
    yield Network("audio", "encodec_encoder", "strided convolutions and LSTM", lambda: (encodec.modules.SEANetEncoder(dimension=8, n_filters=4, ratios=[4, 2], lstm=1), wave(256)))
    yield Network("audio", "encodec_decoder", "transposed convolutions", lambda: (encodec.modules.SEANetDecoder(dimension=8, n_filters=4, ratios=[4, 2], lstm=1), (torch.randn(1, 8, 20),)))
    yield Network("audio", "encodec_quantizer", "residual codes", lambda: (Method(encodec.quantization.ResidualVectorQuantizer(8, 2, 16, kmeans_init=False), "decode"), (torch.randint(0, 16, (2, 1, 12)),)))
    yield Network("audio", "snac_codec", "codes of several rates", lambda: (snac.SNAC(encoder_dim=8, encoder_rates=[2, 2], decoder_dim=16, decoder_rates=[2, 2], attn_window_size=None, codebook_size=16,
                                                                              codebook_dim=4, vq_strides=[2, 1], noise=False), wave(64)))
    yield Network("audio", "vocos_backbone", "convolutions to a spectrogram", lambda: (vocos.models.VocosBackbone(8, 16, 32, 2), (torch.randn(1, 8, 20),)))
    yield Network("audio", "vocos_head", "inverse Fourier transform of predicted phases", lambda: (vocos.heads.ISTFTHead(16, 64, 16, padding="same"), (torch.randn(1, 20, 16) * 0.1,)), tolerance=2e-4)
    yield Network("audio", "conformer_conformer", "a Conformer of einsums", lambda: (Conformer(16, depth=1, dim_head=8, heads=2), (torch.randn(1, 20, 16),)))


def rows_of_nnaudio():
    from nnAudio import features
    for name, cause, make in (("cqt", "constant-Q transform by convolutions", lambda: features.CQT1992v2(sr=8000, n_bins=24, fmin=220, verbose=False)),
                              ("mel", "Fourier transform as a convolution", lambda: features.MelSpectrogram(sr=8000, n_fft=128, n_mels=16, hop_length=64, verbose=False)),
                              ("gammatone", "gammatone filters", lambda: features.Gammatonegram(sr=8000, n_fft=128, n_bins=16, hop_length=64, verbose=False))):
        yield Network("audio", f"nnaudio_{name}", cause, lambda make=make: (Picked(make(), lambda y: y), (torch.randn(1, 2000),)), tolerance=2e-4)
