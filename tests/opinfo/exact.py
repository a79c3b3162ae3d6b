# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own error in special functions: its distance from the exact value, which mpmath computes.

PyTorch approximates them in the dtype of the input, at places with errors of many units in the last place (trigamma in float64: 1e-10).
The error model adds that distance to what it allows."""
import mpmath
import torch


def lower_gamma(a, x):
    """The regularised incomplete gamma function, by its series of positive terms."""
    with mpmath.extradps(40):
        term = total = 1 / (a * mpmath.gamma(a))
        k = 0
        while term > total * mpmath.eps:
            k += 1
            term *= x / (a + k)
            total += term
        return total * x**a * mpmath.exp(-x)


def log_ndtr(x):
    root = mpmath.sqrt(2)
    return mpmath.log1p(-mpmath.erfc(x / root) / 2) if x > -1 else mpmath.log(mpmath.erfc(-x / root) / 2)


def polynomial(second, following):
    """An orthogonal polynomial by its recurrence, with the degree cut to an integer, and 0 for a negative one."""
    def of_degree(x, n):
        with mpmath.extradps(60):
            before, now = mpmath.mpf(0), mpmath.mpf(1 if int(n) >= 0 else 0)
            for k in range(int(n)):
                before, now = now, second(x) if k == 0 else following(k, x, now, before)
            return now
    return of_degree


def chebyshev(second):
    return polynomial(second, lambda k, x, now, before: 2 * x * now - before)


CHEBYSHEV = {"t": chebyshev(lambda x: x), "u": chebyshev(lambda x: 2 * x), "v": chebyshev(lambda x: 2 * x - 1),
             "w": chebyshev(lambda x: 2 * x + 1)}

# By the name of the operator: a function of its tensors' elements, in the order of arguments, but after the numbers of NUMBERS_FIRST.
FUNCTIONS = {
    "digamma": mpmath.digamma,
    "erfc": mpmath.erfc,
    "erfinv": mpmath.erfinv,
    "i0": lambda x: mpmath.besseli(0, x),
    "igamma": lower_gamma,
    "igammac": lambda a, x: 1 - lower_gamma(a, x),
    "lgamma": lambda x: mpmath.log(abs(mpmath.gamma(x))),
    "polygamma": lambda n, x: mpmath.polygamma(int(n), x),
    "special_polygamma": lambda n, x: mpmath.polygamma(int(n), x),
    "special_airy_ai": mpmath.airyai,
    **{f"special_chebyshev_polynomial_{kind}": f for kind, f in CHEBYSHEV.items()},
    **{f"special_shifted_chebyshev_polynomial_{kind}": lambda x, n, f=f: f(2 * x - 1, n) for kind, f in CHEBYSHEV.items()},
    "special_hermite_polynomial_h": polynomial(lambda x: 2 * x, lambda k, x, now, before: 2 * (x * now - k * before)),
    "special_hermite_polynomial_he": polynomial(lambda x: x, lambda k, x, now, before: x * now - k * before),
    "special_laguerre_polynomial_l": polynomial(lambda x: 1 - x, lambda k, x, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1)),
    "special_legendre_polynomial_p": polynomial(lambda x: x, lambda k, x, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1)),
    "special_bessel_j0": lambda x: mpmath.besselj(0, x),
    "special_bessel_j1": lambda x: mpmath.besselj(1, x),
    "special_bessel_y0": lambda x: mpmath.bessely(0, x),
    "special_bessel_y1": lambda x: mpmath.bessely(1, x),
    "special_erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
    "special_i0e": lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)),
    "special_i1": lambda x: mpmath.besseli(1, x),
    "special_i1e": lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)),
    "special_log_ndtr": log_ndtr,
    "special_modified_bessel_i0": lambda x: mpmath.besseli(0, x),
    "special_modified_bessel_i1": lambda x: mpmath.besseli(1, x),
    "special_modified_bessel_k0": lambda x: mpmath.besselk(0, x),
    "special_modified_bessel_k1": lambda x: mpmath.besselk(1, x),
    "special_ndtri": lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1),
    "special_scaled_modified_bessel_k0": lambda x: mpmath.besselk(0, x) * mpmath.exp(x),
    "special_scaled_modified_bessel_k1": lambda x: mpmath.besselk(1, x) * mpmath.exp(x),
}
# Of complex results. exp(y log x) multiplies the rounding error of y log x by its magnitude, in PyTorch as here.
COMPLEX_FUNCTIONS = {"__rpow__": lambda y, x: x**y, "float_power": lambda x, y: x**y, "pow": lambda x, y: x**y}
NUMBERS_FIRST = {"polygamma", "special_polygamma"}  # the operator and the OpInfo have them in another order
MAX_ELEMENTS = 2000  # of a larger result, evenly spaced


def own_error(name, arguments, result):
    """Largest distance of PyTorch's finite results from the exact ones; 0 for other operators. `name` is that of the operator without
    namespace and overload, `arguments` are its first tensors and numbers."""
    if result.is_complex():
        return complex_error(COMPLEX_FUNCTIONS.get(name), arguments, result)
    function = FUNCTIONS.get(name)
    if function is None or result.numel() == 0:
        return 0.0
    if name in NUMBERS_FIRST:
        arguments = sorted(arguments, key=lambda a: isinstance(a, torch.Tensor))
    as_computed = lambda a: (a if a.is_floating_point() else a.to(result.dtype)).double()
    columns = [as_computed(a).broadcast_to(result.shape).flatten().tolist() if isinstance(a, torch.Tensor) else [a] * result.numel()
               for a in arguments if isinstance(a, (torch.Tensor, int, float))]
    rows = list(zip(result.double().flatten().tolist(), zip(*columns)))
    largest = 0.0
    with mpmath.workdps(30):
        for found, elements in rows[:: max(1, len(rows) // MAX_ELEMENTS)]:
            if not abs(found) < 1e300 or not all(abs(x) < 1e6 for x in elements):
                continue  # not finite, or slow
            try:
                exact = function(*map(mpmath.mpf, elements))
                distance = float(abs(exact - mpmath.mpf(found)))
            except (ValueError, ZeroDivisionError, TypeError, mpmath.libmp.NoConvergence):
                continue  # a pole, or outside of the domain
            if distance == distance and distance != float("inf"):
                largest = max(largest, distance)
    return largest


def complex_error(function, arguments, result):
    """Largest distance of a part of PyTorch's finite results from the exact one, among those of more than 4 units in the last place."""
    if function is None or result.numel() == 0:
        return 0.0
    wide = lambda a: torch.as_tensor(a).to(torch.complex128).broadcast_to(result.shape).flatten().tolist()
    operands = [a for a in arguments if isinstance(a, (torch.Tensor, int, float, complex))]
    rows = list(zip(wide(result), zip(*map(wide, operands))))
    largest, rounding = 0.0, 4 * torch.finfo(result.dtype).eps
    with mpmath.workdps(30):
        for found, elements in rows[:: max(1, len(rows) // MAX_ELEMENTS)]:
            if not abs(found) < 1e300 or not all(0 < abs(x) < 1e6 for x in elements):
                continue
            distance = function(*map(mpmath.mpmathify, elements)) - mpmath.mpmathify(found)
            if abs(distance) > rounding * abs(found):
                largest = max(largest, abs(float(distance.real)), abs(float(distance.imag)))
    return largest
