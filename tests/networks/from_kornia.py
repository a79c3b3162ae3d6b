# SPDX-License-Identifier: Apache-2.0
"""Rows of kornia: image processing, geometry, features and losses as graphs."""
import torch
from network import Function, Network


def rows_of_kornia():
    import kornia as k

    def gray(size=32):
        return (torch.rand(1, 1, size, size),)

    def color(size=32):
        return (torch.rand(1, 3, size, size),)

    def pair(size=32):
        return torch.rand(1, 3, size, size), torch.rand(1, 3, size, size)

    corners = torch.tensor([[[2.0, 3.0], [29.0, 1.0], [30.0, 28.0], [0.0, 30.0]]])
    square = torch.tensor([[[0.0, 0.0], [31.0, 0.0], [31.0, 31.0], [0.0, 31.0]]])
    turned = torch.tensor([[[0.9, -0.3, 4.0], [0.3, 0.9, -3.0]]])
    camera = torch.tensor([[[30.0, 0.0, 16.0], [0.0, 30.0, 16.0], [0.0, 0.0, 1.0]]])
    filters = (
        ("gaussian", "separable filter", lambda x: k.filters.gaussian_blur2d(x, (5, 5), (1.5, 1.5))),
        ("sobel", "gradients and their length", k.filters.sobel), ("laplacian", "second derivatives", lambda x: k.filters.laplacian(x, 3)),
        ("canny", "non-maximum suppression, hysteresis", lambda x: k.filters.canny(x, hysteresis=False)),
        ("median", "median of a window", lambda x: k.filters.median_blur(x, (3, 3))),
        ("bilateral", "weights from the data", lambda x: k.filters.bilateral_blur(x, (3, 3), 0.1, (1.5, 1.5))),
        ("unsharp", "difference of blurs", lambda x: k.filters.unsharp_mask(x, (3, 3), (1.5, 1.5))),
        ("motion", "kernel turned by an angle", lambda x: k.filters.motion_blur(x, 5, 35.0, 0.5)),
        ("dilation", "morphology", lambda x: k.morphology.dilation(x, torch.ones(3, 3))),
        ("closing", "morphology, two steps", lambda x: k.morphology.closing(x, torch.ones(3, 3))),
        ("hsv", "colours by angle", lambda x: k.color.hsv_to_rgb(k.color.rgb_to_hsv(x))), ("lab", "powers below and above a threshold", lambda x: k.color.rgb_to_lab(x)),
        ("yuv", "linear colours", k.color.rgb_to_yuv), ("clahe", "histograms of tiles", lambda x: k.enhance.equalize_clahe(x, grid_size=(4, 4))),
        ("equalize", "histogram and lookup", k.enhance.equalize), ("jpeg", "blocks of cosines, rounded", lambda x: k.enhance.jpeg_codec_differentiable(x, torch.tensor([50.0]))),
        ("zca", "whitening by singular values", lambda x: k.enhance.zca_whiten(x.flatten(2)[0].T)),
        ("histogram", "soft histogram", lambda x: k.enhance.histogram(x.flatten(1)[:, :64], torch.linspace(0, 1, 8), torch.tensor(0.1))),
        ("distance", "distance transform by convolutions", lambda x: k.contrib.distance_transform((x > 0.5).float())),
        ("blobs", "connected components by repeated pools", lambda x: k.contrib.connected_components((x[:, :1] > 0.5).float(), 5)))
    for name, cause, function in filters:
        yield Network("vision", f"kornia_{name}", cause, lambda function=function: (Function(function), color()), tolerance=2e-4)
    geometry = (
        ("warp_affine", "inverse of a matrix, grid sample", lambda x: k.geometry.transform.warp_affine(x, turned, (32, 32))),
        ("warp_perspective", "homography", lambda x: k.geometry.transform.warp_perspective(x, k.geometry.transform.get_perspective_transform(corners, square), (32, 32))),
        ("rotate", "affine matrix of an angle", lambda x: k.geometry.transform.rotate(x, torch.tensor([30.0]))),
        ("pyramid", "levels of an image", lambda x: k.geometry.transform.build_pyramid(x, 3)),
        ("undistort", "iterated lens correction", lambda x: k.geometry.calibration.undistort_image(x, camera[0], torch.tensor([0.1, 0.01, 0.0, 0.0]))),
        ("elastic", "filtered displacement", lambda x: k.geometry.transform.elastic_transform2d(x, torch.full((1, 2, 32, 32), 0.1), kernel_size=(5, 5), sigma=(2.0, 2.0))))
    for name, cause, function in geometry:
        yield Network("vision", f"kornia_{name}", cause, lambda function=function: (Function(function), color()), tolerance=2e-4)
    points = lambda n=8: (torch.rand(1, n, 2), torch.rand(1, n, 2))  # noqa: E731
    yield Network("3d", "kornia_homography", "null space by singular values", lambda: (Function(k.geometry.homography.find_homography_dlt), points()), tolerance=2e-3)
    yield Network("3d", "kornia_fundamental", "matrix of rank two", lambda: (Function(lambda a, b: k.geometry.epipolar.find_fundamental(a, b, torch.ones(1, 8))), points()), tolerance=2e-3)
    yield Network("3d", "kornia_axis_angle", "rotation matrices and quaternions",
                  lambda: (Function(lambda x: k.geometry.conversions.rotation_matrix_to_quaternion(k.geometry.conversions.axis_angle_to_rotation_matrix(x))), (torch.randn(3, 3),)))
    yield Network("3d", "kornia_depth", "points of a depth image",
                  lambda: (Function(lambda x: k.geometry.depth.depth_to_3d(x.abs() + 1, camera)), gray()))
    yield Network("3d", "kornia_project", "projection of points by a camera",
                  lambda: (Function(lambda x: k.geometry.camera.perspective.project_points(x, camera)), (torch.rand(4, 3) + 1,)))
    features = (("harris", "corner response", lambda: (Function(lambda x: k.feature.harris_response(x)), gray())),
                ("hessian", "determinant of second derivatives", lambda: (Function(k.feature.hessian_response), gray())),
                ("hardnet", "descriptors of patches", lambda: (k.feature.HardNet(False), (torch.rand(2, 1, 32, 32),))),
                ("hynet", "filter response norm", lambda: (k.feature.HyNet(False), (torch.rand(2, 1, 32, 32),))),
                ("sosnet", "descriptors, local norm", lambda: (k.feature.SOSNet(False), (torch.rand(2, 1, 32, 32),))),
                ("sift", "histograms of directions", lambda: (k.feature.SIFTDescriptor(32), (torch.rand(2, 1, 32, 32),))),
                ("mkd", "kernel descriptors", lambda: (k.feature.MKDDescriptor(32, whitening=None), (torch.rand(2, 1, 32, 32),))),
                ("orinet", "direction of a patch", lambda: (k.feature.OriNet(False), (torch.rand(2, 1, 32, 32),))),
                ("xfeat", "dense features of an image", lambda: (k.feature.XFeatModel(), gray(64))),
                ("match", "nearest neighbours, ratio test", lambda: (Function(lambda a, b: torch.cdist(a, b).topk(2, largest=False)), (torch.rand(6, 8), torch.rand(7, 8)))))
    for name, cause, make in features:
        yield Network("vision", f"kornia_{name}", cause, make, tolerance=2e-4)
    losses = (("ssim", "local statistics", lambda a, b: k.losses.ssim_loss(a, b, 5)), ("ms_ssim", "statistics at several scales", k.losses.MS_SSIMLoss()),
              ("psnr", "logarithm of a mean", lambda a, b: k.losses.psnr_loss(a, b, 1.0)), ("total_variation", "differences of neighbours", lambda a, b: k.losses.total_variation(a)),
              ("dice", "overlap of classes", lambda a, b: k.losses.dice_loss(a, b.argmax(1))), ("focal", "weighted cross entropy", lambda a, b: k.losses.focal_loss(a, b.argmax(1), 0.5)),
              ("lovasz", "sorted errors", lambda a, b: k.losses.lovasz_softmax_loss(a, b.argmax(1))), ("hausdorff", "eroded errors", lambda a, b: k.losses.HausdorffERLoss()(a, b.argmax(1)[:, None])))
    for name, cause, function in losses:
        yield Network("vision", f"kornia_loss_{name}", cause, lambda function=function: (Function(function), pair()), tolerance=2e-4)
